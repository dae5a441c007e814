#include "support/tensor.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <new>

#include "support/check.h"
#include "support/device_profile.h"
#include "support/integer_division.h"
#include "support/storage_types.h"

namespace tcc {
namespace {

// Calls `visit` with a zero of the C++ type that stores `dtype`.
template <typename Visit>
auto VisitStorage(DType dtype, Visit&& visit) {
  switch (dtype.code()) {
    case DTypeCode::kBool:
    case DTypeCode::kUInt8:
      return visit(uint8_t{});
    case DTypeCode::kInt8:
      return visit(int8_t{});
    case DTypeCode::kInt16:
      return visit(int16_t{});
    case DTypeCode::kInt32:
      return visit(int32_t{});
    case DTypeCode::kInt64:
      return visit(int64_t{});
    case DTypeCode::kUInt16:
    case DTypeCode::kFloat16:  // by its bits
    case DTypeCode::kBFloat16:
      return visit(uint16_t{});
    case DTypeCode::kUInt32:
      return visit(uint32_t{});
    case DTypeCode::kUInt64:
      return visit(uint64_t{});
    case DTypeCode::kFloat32:
    case DTypeCode::kTFloat32:
      return visit(float{});
    case DTypeCode::kFloat64:
      return visit(double{});
    case DTypeCode::kFloat8E4M3:
    case DTypeCode::kFloat8E5M2:
    case DTypeCode::kInt4:
    case DTypeCode::kUInt4:
    case DTypeCode::kInt2:
    case DTypeCode::kUInt2:
      break;
  }
  TCC_CHECK(false) << "element access to " << ToString(dtype);
  __builtin_unreachable();
}

template <typename T>
T ReadAt(const Tensor& tensor, int64_t index) {
  TCC_CHECK(index >= 0 && (index + 1) * sizeof(T) <= tensor.bytes.size()) << index;
  T value;
  std::memcpy(&value, tensor.bytes.data() + index * sizeof(T), sizeof(T));
  return value;
}

// Checks that packed element `index` lies inside the tensor and returns `index`.
int64_t PackedIndex(const Tensor& tensor, int64_t index) {
  const auto bytes = static_cast<int64_t>(tensor.bytes.size());
  TCC_CHECK(index >= 0 && index / PackedPerByte(tensor.dtype) < bytes) << index;
  return index;
}

template <typename T>
void WriteAt(Tensor& tensor, int64_t index, T value) {
  TCC_CHECK(index >= 0 && (index + 1) * sizeof(T) <= tensor.bytes.size()) << index;
  std::memcpy(MutableBytes(tensor).data() + index * sizeof(T), &value, sizeof(T));
}

// Makes a tensor that the caller fills; the bytes that alignment adds are zero.
Tensor MakeEmptyTensor(DType dtype, std::vector<int64_t> shape) {
  constexpr std::align_val_t kAlignment{kCacheLineBytes};
  StatusOr<int64_t> size = ByteCount(dtype, shape);
  TCC_CHECK(size.ok()) << Message(size.status());
  // An empty tensor has an address too.
  const size_t rounded = RoundUp(std::max<size_t>(static_cast<size_t>(*size), 1), kCacheLineBytes);
  std::shared_ptr<const void> memory(::operator new(rounded, kAlignment),
                                     [](void* start) { ::operator delete(start, kAlignment); });
  auto* start = static_cast<uint8_t*>(const_cast<void*>(memory.get()));
  std::fill(start + *size, start + rounded, uint8_t{0});
  std::span<const uint8_t> bytes(start, static_cast<size_t>(*size));
  return {dtype, std::move(shape), std::move(memory), bytes};
}

}  // namespace

StatusOr<int64_t> ElementCount(std::span<const int64_t> shape) {
  int64_t count = 1;
  bool empty = false;
  for (int64_t dim : shape) {
    if (dim < 0) return InvalidInput("shape {} has a negative dimension", ShapeToString(shape));
    if (dim == 0) empty = true;
    if (dim != 0 && __builtin_mul_overflow(count, dim, &count)) {
      return InvalidInput("shape {} has more elements than fit 64 bits", ShapeToString(shape));
    }
  }
  return empty ? 0 : count;
}

StatusOr<int64_t> ByteCount(DType dtype, std::span<const int64_t> shape) {
  TCC_ASSIGN_OR_RETURN(int64_t count, ElementCount(shape));
  int64_t bits;
  if (__builtin_mul_overflow(count, int64_t{dtype.bits()}, &bits) || bits > INT64_MAX - 7) {
    return InvalidInput("shape {} of {} takes more bytes than fit 64 bits", ShapeToString(shape),
                        ToString(dtype));
  }
  return (bits + 7) / 8;
}

Tensor MakeZeroTensor(DType dtype, std::vector<int64_t> shape) {
  Tensor tensor = MakeEmptyTensor(dtype, std::move(shape));
  std::memset(MutableBytes(tensor).data(), 0, tensor.bytes.size());
  return tensor;
}

Tensor MakeTensor(DType dtype, std::vector<int64_t> shape, std::span<const uint8_t> bytes) {
  Tensor tensor = MakeEmptyTensor(dtype, std::move(shape));
  TCC_CHECK(tensor.bytes.size() == bytes.size())
      << ToString(tensor) << " from " << bytes.size() << " bytes";
  if (!bytes.empty()) std::memcpy(MutableBytes(tensor).data(), bytes.data(), bytes.size());
  return tensor;
}

StatusOr<Tensor> CopyTensor(DType dtype, std::vector<int64_t> shape, std::span<const uint8_t> bytes,
                            const std::string& what) {
  try {
    return MakeTensor(dtype, std::move(shape), bytes);
  } catch (const std::bad_alloc&) {
    return absl::ResourceExhaustedError(
        fmt::format("no memory for {}, which takes {} bytes", what, bytes.size()));
  }
}

std::span<uint8_t> MutableBytes(Tensor& tensor) {
  return {const_cast<uint8_t*>(tensor.bytes.data()), tensor.bytes.size()};
}

double ElementAsDouble(const Tensor& tensor, int64_t index) {
  if (tensor.dtype == kFloat16) return HalfToFloat(ReadAt<uint16_t>(tensor, index));
  if (tensor.dtype.code() == DTypeCode::kBFloat16)
    return BFloat16ToFloat(ReadAt<uint16_t>(tensor, index));
  if (IsFloat8(tensor.dtype)) return Float8ToDouble(tensor.dtype, ReadAt<uint8_t>(tensor, index));
  if (IsPacked(tensor.dtype)) return static_cast<double>(ElementAsInt(tensor, index));
  return VisitStorage(tensor.dtype, [&](auto zero) {
    return static_cast<double>(ReadAt<decltype(zero)>(tensor, index));
  });
}

int64_t ElementAsInt(const Tensor& tensor, int64_t index) {
  if (HoldsFloats(tensor.dtype)) return static_cast<int64_t>(ElementAsDouble(tensor, index));
  if (IsPacked(tensor.dtype)) {
    return PackedAt(tensor.dtype, tensor.bytes.data(), PackedIndex(tensor, index));
  }
  return VisitStorage(tensor.dtype, [&](auto zero) {
    return static_cast<int64_t>(ReadAt<decltype(zero)>(tensor, index));
  });
}

void SetElement(Tensor& tensor, int64_t index, double value) {
  if (tensor.dtype == kFloat16)
    return WriteAt(tensor, index, FloatToHalf(static_cast<float>(value)));
  if (tensor.dtype.code() == DTypeCode::kBFloat16) {
    return WriteAt(tensor, index, FloatToBFloat16(static_cast<float>(value)));
  }
  if (tensor.dtype.code() == DTypeCode::kTFloat32) {
    return WriteAt(tensor, index, RoundToTFloat32(static_cast<float>(value)));
  }
  if (IsFloat8(tensor.dtype)) return WriteAt(tensor, index, DoubleToFloat8(tensor.dtype, value));
  if (!tensor.dtype.is_float()) return SetElementInt(tensor, index, static_cast<int64_t>(value));
  VisitStorage(tensor.dtype,
               [&](auto zero) { WriteAt(tensor, index, static_cast<decltype(zero)>(value)); });
}

void SetElementInt(Tensor& tensor, int64_t index, int64_t value) {
  if (HoldsFloats(tensor.dtype)) return SetElement(tensor, index, static_cast<double>(value));
  if (IsPacked(tensor.dtype)) {
    return SetPacked(tensor.dtype, MutableBytes(tensor).data(), PackedIndex(tensor, index), value);
  }
  VisitStorage(tensor.dtype,
               [&](auto zero) { WriteAt(tensor, index, static_cast<decltype(zero)>(value)); });
}

std::string ShapeToString(std::span<const int64_t> shape) {
  return shape.empty() ? "scalar" : fmt::format("{}", fmt::join(shape, "x"));
}

std::string ToString(const Tensor& tensor) {
  return fmt::format("{}[{}]", ToString(tensor.dtype), fmt::join(tensor.shape, "x"));
}

}  // namespace tcc
