#include "models/onnx/onnx_tensor.h"

#include <fmt/ranges.h>

#include <cstring>
#include <ranges>

#include "support/extents.h"
#include "support/printable.h"

namespace tcc {
namespace {

// TensorProto.DataType of onnx.proto, by number.
constexpr std::string_view kOnnxNames[] = {
    "UNDEFINED",      "FLOAT",      "UINT8",          "INT8",       "UINT16",     "INT16",
    "INT32",          "INT64",      "STRING",         "BOOL",       "FLOAT16",    "DOUBLE",
    "UINT32",         "UINT64",     "COMPLEX64",      "COMPLEX128", "BFLOAT16",   "FLOAT8E4M3FN",
    "FLOAT8E4M3FNUZ", "FLOAT8E5M2", "FLOAT8E5M2FNUZ", "UINT4",      "INT4",       "FLOAT4E2M1",
    "FLOAT8E8M0",     "UINT2",      "INT2",           "FLOAT6E2M3", "FLOAT6E3M2",
};

struct TypeRow {
  onnxpb::TensorType onnx;
  DTypeCode dtype;
};

constexpr TypeRow kTypes[] = {
    {onnxpb::TENSOR_FLOAT, DTypeCode::kFloat32},
    {onnxpb::TENSOR_UINT8, DTypeCode::kUInt8},
    {onnxpb::TENSOR_INT8, DTypeCode::kInt8},
    {onnxpb::TENSOR_UINT16, DTypeCode::kUInt16},
    {onnxpb::TENSOR_INT16, DTypeCode::kInt16},
    {onnxpb::TENSOR_INT32, DTypeCode::kInt32},
    {onnxpb::TENSOR_INT64, DTypeCode::kInt64},
    {onnxpb::TENSOR_BOOL, DTypeCode::kBool},
    {onnxpb::TENSOR_FLOAT16, DTypeCode::kFloat16},
    {onnxpb::TENSOR_DOUBLE, DTypeCode::kFloat64},
    {onnxpb::TENSOR_UINT32, DTypeCode::kUInt32},
    {onnxpb::TENSOR_UINT64, DTypeCode::kUInt64},
    {onnxpb::TENSOR_BFLOAT16, DTypeCode::kBFloat16},
    {onnxpb::TENSOR_FLOAT8E4M3FN, DTypeCode::kFloat8E4M3},
    {onnxpb::TENSOR_FLOAT8E5M2, DTypeCode::kFloat8E5M2},
    {onnxpb::TENSOR_UINT4, DTypeCode::kUInt4},
    {onnxpb::TENSOR_INT4, DTypeCode::kInt4},
    {onnxpb::TENSOR_UINT2, DTypeCode::kUInt2},
    {onnxpb::TENSOR_INT2, DTypeCode::kInt2},
};

// The repeated fields that a type's elements may stand in instead of raw_data.
enum class DataField { kFloat, kInt32, kInt64, kDouble, kUInt64 };

DataField FieldOf(DType dtype) {
  switch (dtype.code()) {
    case DTypeCode::kFloat32:
      return DataField::kFloat;
    case DTypeCode::kFloat64:
      return DataField::kDouble;
    case DTypeCode::kInt64:
      return DataField::kInt64;
    case DTypeCode::kUInt32:
    case DTypeCode::kUInt64:
      return DataField::kUInt64;
    case DTypeCode::kBool:
    case DTypeCode::kInt8:
    case DTypeCode::kInt16:
    case DTypeCode::kInt32:
    case DTypeCode::kUInt8:
    case DTypeCode::kUInt16:
    case DTypeCode::kFloat16:
    case DTypeCode::kBFloat16:
    case DTypeCode::kFloat8E4M3:
    case DTypeCode::kFloat8E5M2:
    case DTypeCode::kInt4:
    case DTypeCode::kUInt4:
    case DTypeCode::kInt2:
    case DTypeCode::kUInt2:
    case DTypeCode::kTFloat32:
      break;
  }
  return DataField::kInt32;
}

class TensorReader {
 public:
  TensorReader(onnxpb::Tensor& proto, const std::string& what, ExternalData& files)
      : proto_(proto), what_(what), files_(files) {}

  StatusOr<Tensor> Read(const TensorLimits& limits) {
    std::optional<DType> dtype = FromOnnxType(proto_.data_type());
    if (!dtype) return UnsupportedType(what_, proto_.data_type());
    dtype_ = *dtype;
    shape_.assign(proto_.dims().begin(), proto_.dims().end());
    TCC_RETURN_IF_ERROR(Annotate(CheckExtents(shape_), what_));
    TCC_ASSIGN_OR_RETURN(size_, ByteCount(dtype_, shape_));
    if (size_ > limits.max_bytes) {
      return InvalidInput("{}: {} bytes; at most {} are allowed", what_, size_, limits.max_bytes);
    }
    if (proto_.string_data_size() != 0) return InvalidInput("{}: strings as elements", what_);
    StatusOr<Tensor> tensor = Data();
    if (tensor.ok()) TCC_RETURN_IF_ERROR(CheckBools(*tensor));
    return tensor;
  }

 private:
  StatusOr<Tensor> Data() {
    int fields = (proto_.raw_data().empty() ? 0 : 1) + (proto_.float_data().empty() ? 0 : 1) +
                 (proto_.int32_data().empty() ? 0 : 1) + (proto_.int64_data().empty() ? 0 : 1) +
                 (proto_.double_data().empty() ? 0 : 1) + (proto_.uint64_data().empty() ? 0 : 1);
    bool external = proto_.data_location() == 1;
    if (fields + (external ? 1 : 0) > 1) return InvalidInput("{}: data in two places", what_);
    if (external) return FromFile();
    if (!proto_.raw_data().empty()) return FromRaw();
    switch (FieldOf(dtype_)) {
      case DataField::kFloat:
        return FromTyped(proto_.float_data(), sizeof(float));
      case DataField::kDouble:
        return FromTyped(proto_.double_data(), sizeof(double));
      case DataField::kInt64:
        return FromTyped(proto_.int64_data(), sizeof(int64_t));
      case DataField::kUInt64:
        return FromTyped(proto_.uint64_data(), dtype_.bytes());
      case DataField::kInt32:
        break;
    }
    // float8 and bytes of packed elements take an int32 a byte.
    return FromTyped(proto_.int32_data(), dtype_.is_storage_only() ? 1 : dtype_.bytes());
  }

  StatusOr<Tensor> FromFile() {
    constexpr int kMaxKeys = 16;
    if (proto_.external_data_size() > kMaxKeys) {
      return InvalidInput("{}: {} external data keys; expected at most {}", what_,
                          proto_.external_data_size(), kMaxKeys);
    }
    std::string location;
    int64_t offset = 0;
    int64_t length = size_;
    for (const onnxpb::KeyValue& entry : proto_.external_data()) {
      if (entry.key() == "location") location = entry.value();
      if (entry.key() != "offset" && entry.key() != "length") continue;
      std::optional<int64_t> number = ParseDecimal(entry.value());
      if (!number) {
        return InvalidInput("{}: external data {} '{}'; expected a decimal number", what_,
                            entry.key(), Printable(entry.value()));
      }
      (entry.key() == "offset" ? offset : length) = *number;
    }
    if (length != size_) {
      return InvalidInput("{}: external data of {} bytes; {} needs {}", what_, length, TypeText(),
                          size_);
    }
    StatusOr<SharedBytes> data = files_.Read(location, offset, length);
    if (!data.ok()) return Annotate(data.status(), what_);
    return View(std::move(*data));
  }

  StatusOr<Tensor> FromRaw() {
    auto owner = std::make_shared<const std::string>(std::move(*proto_.mutable_raw_data()));
    std::span<const uint8_t> bytes(reinterpret_cast<const uint8_t*>(owner->data()), owner->size());
    return View({std::move(owner), bytes});
  }

  // The bytes as they are, or a copy where elements would be misaligned.
  StatusOr<Tensor> View(SharedBytes data) {
    if (static_cast<int64_t>(data.bytes.size()) != size_) return WrongSize(data.bytes.size());
    size_t alignment = dtype_.is_storage_only() ? 1 : static_cast<size_t>(dtype_.bytes());
    if (reinterpret_cast<uintptr_t>(data.bytes.data()) % alignment != 0) {
      return MakeTensor(dtype_, shape_, data.bytes);
    }
    return Tensor{dtype_, shape_, std::move(data.owner), data.bytes};
  }

  // One entry of the field an element, cut to `width` bytes.
  template <typename Field>
  StatusOr<Tensor> FromTyped(const Field& field, int width) {
    int64_t count = field.size();
    if (count * width != size_) return WrongSize(count * width);
    Tensor tensor = MakeZeroTensor(dtype_, shape_);
    uint8_t* out = MutableBytes(tensor).data();
    for (int i = 0; i < field.size(); ++i) {
      auto value = field[i];
      if (!Fits(value, width)) {
        return InvalidInput("{}: element {} is {}, out of range for {}", what_, i, value,
                            ToString(dtype_));
      }
      // Little-endian, as the host: the low bytes come first.
      std::memcpy(out + static_cast<int64_t>(i) * width, &value, static_cast<size_t>(width));
    }
    return tensor;
  }

  template <typename T>
  bool Fits(T value, int width) const {
    if constexpr (std::is_floating_point_v<T>) {
      return true;
    } else {
      if (static_cast<size_t>(width) == sizeof(T)) return true;
      if constexpr (std::is_signed_v<T>) {
        T half = T{1} << (width * 8 - 1);
        if (dtype_.is_signed_integer()) return value >= -half && value < half;
        // ONNX 1.16 wrote the bytes of two int4 as signed ones, all others as unsigned ones.
        T least = dtype_.code() == DTypeCode::kInt4 ? -half : 0;
        return value >= least && value / 2 < half;
      } else {
        return value >> (width * 8) == 0;
      }
    }
  }

  Status CheckBools(const Tensor& tensor) const {
    if (!dtype_.is_bool()) return OkStatus();
    for (uint8_t byte : tensor.bytes) {
      if (byte > 1) return InvalidInput("{}: a bool is {}; expected 0 or 1", what_, byte);
    }
    return OkStatus();
  }

  std::string TypeText() const {
    return fmt::format("{}[{}]", ToString(dtype_), ShapeToString(shape_));
  }
  Status WrongSize(int64_t bytes) const {
    return InvalidInput("{}: {} bytes of data; {} needs {}", what_, bytes, TypeText(), size_);
  }

  onnxpb::Tensor& proto_;
  const std::string& what_;
  ExternalData& files_;
  DType dtype_;
  std::vector<int64_t> shape_;
  int64_t size_ = 0;
};

}  // namespace

std::optional<DType> FromOnnxType(int32_t type) {
  for (const TypeRow& row : kTypes) {
    if (row.onnx == type) return DType(row.dtype);
  }
  return std::nullopt;
}

int32_t ToOnnxType(DType dtype) {
  for (const TypeRow& row : kTypes) {
    if (row.dtype == dtype.code()) return row.onnx;
  }
  return onnxpb::TENSOR_UNDEFINED;
}

std::string OnnxTypeName(int64_t type) {
  if (type < 0 || type >= std::ssize(kOnnxNames)) return std::to_string(type);
  return fmt::format("{} ({})", kOnnxNames[type], type);
}

Status UnsupportedType(const std::string& what, int64_t type) {
  auto name = [](const TypeRow& row) { return kOnnxNames[row.onnx]; };
  return Unsupported("{}: element type {} is not supported; supported are {}", what,
                     OnnxTypeName(type), fmt::join(std::views::transform(kTypes, name), ", "));
}

StatusOr<Tensor> ReadOnnxTensor(onnxpb::Tensor& proto, const std::string& what, ExternalData& files,
                                const TensorLimits& limits) {
  return TensorReader(proto, what, files).Read(limits);
}

}  // namespace tcc
