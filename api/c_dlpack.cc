#include <algorithm>

#include "api/c_handles.h"

// Tensors of DLPack: the layout and the numbers of types that version 1.1 has, and 0.x a part of,
// https://dmlc.github.io/dlpack/latest/c_api.html.
namespace tcc {
namespace {

struct DlTensor {
  void* data;
  int32_t device_type;
  int32_t device;
  int32_t rank;
  uint8_t type_code;
  uint8_t bits;
  uint16_t lanes;
  const int64_t* shape;
  const int64_t* strides;  // in elements; may be null for a tensor without gaps
  uint64_t byte_offset;
};
static_assert(sizeof(DlTensor) == 48);

struct DlType {
  uint8_t code;
  uint8_t bits;
  tcc_dtype dtype;
};
// Numbers of DLDataTypeCode.
constexpr uint8_t kInt = 0, kUInt = 1, kFloat = 2, kBFloat = 4, kBool = 6, kE4M3Fn = 10, kE5M2 = 12;
constexpr DlType kDlTypes[] = {
    {kBool, 8, TCC_BOOL},  {kInt, 8, TCC_I8},        {kInt, 16, TCC_I16},     {kInt, 32, TCC_I32},
    {kInt, 64, TCC_I64},   {kUInt, 8, TCC_U8},       {kUInt, 16, TCC_U16},    {kUInt, 32, TCC_U32},
    {kUInt, 64, TCC_U64},  {kFloat, 16, TCC_F16},    {kBFloat, 16, TCC_BF16}, {kFloat, 32, TCC_F32},
    {kFloat, 64, TCC_F64}, {kE4M3Fn, 8, TCC_F8E4M3}, {kE5M2, 8, TCC_F8E5M2},  {kInt, 4, TCC_I4},
    {kUInt, 4, TCC_U4},
};

StatusOr<tcc_dtype> DTypeOf(const DlTensor& tensor) {
  for (const DlType& type : kDlTypes) {
    if (type.code == tensor.type_code && type.bits == tensor.bits && tensor.lanes == 1) {
      return type.dtype;
    }
  }
  return InvalidInput("there is no element type for DLPack's code {} of {} bits and {} lanes",
                      tensor.type_code, tensor.bits, tensor.lanes);
}

// Strides of axes with one element, and of tensors without any, mean nothing.
Status CheckRowMajor(const DlTensor& tensor, std::span<const int64_t> shape) {
  if (tensor.strides == nullptr || std::ranges::count(shape, 0) > 0) return OkStatus();
  int64_t expected = 1;
  for (size_t axis = shape.size(); axis-- > 0;) {
    if (shape[axis] != 1 && tensor.strides[axis] != expected) {
      return InvalidInput("axis {} of [{}] has stride {}; expected {}: row-major without gaps",
                          axis, ShapeToString(shape), tensor.strides[axis], expected);
    }
    expected *= shape[axis];
  }
  return OkStatus();
}

// Describes `from`; the shape is copied to `shape`, which has room for `most_rank` extents.
StatusOr<tcc_tensor> Describe(const DlTensor& from, int64_t* shape, uint32_t most_rank) {
  if (from.rank < 0 || static_cast<uint32_t>(from.rank) > most_rank) {
    return InvalidInput("expected a rank from 0 to {}, got {}", most_rank, from.rank);
  }
  const std::span extents(from.shape, static_cast<size_t>(from.rank));
  TCC_ASSIGN_OR_RETURN(tcc_dtype dtype, DTypeOf(from));
  TCC_ASSIGN_OR_RETURN(int64_t bytes, ByteCount(*ToDType(static_cast<v1::DType>(dtype)), extents));
  TCC_RETURN_IF_ERROR(CheckRowMajor(from, extents));
  std::ranges::copy(extents, shape);
  void* data = from.data == nullptr ? nullptr : static_cast<char*>(from.data) + from.byte_offset;
  return tcc_tensor{.name = nullptr,
                    .data = data,
                    .bytes = static_cast<uint64_t>(bytes),
                    .shape = shape,
                    .rank = from.rank,
                    .dtype = dtype,
                    .reserved = 0};
}

}  // namespace
}  // namespace tcc

tcc_code tcc_from_dlpack(const void* dl_tensor, tcc_tensor* tensor, int64_t* shape,
                         uint32_t most_rank, int32_t* device_type, int32_t* device,
                         tcc_error** error) {
  return tcc::ReportCall(error, [&]() -> tcc::v1::Status {
    if (dl_tensor == nullptr) return {tcc::v1::Code::kUsage, "expected a DLTensor, got null"};
    const auto& from = *static_cast<const tcc::DlTensor*>(dl_tensor);
    const void* extents = from.rank > 0 && most_rank > 0 ? shape : dl_tensor;  // if any are written
    if (auto status = tcc::ExpectPlaces({tensor, extents, device_type, device}); !status.ok()) {
      return status;
    }
    tcc::StatusOr<tcc_tensor> described = tcc::Describe(from, shape, most_rank);
    if (!described.ok()) {
      return tcc::ToApi(tcc::Annotate(described.status(), "a DLTensor"));
    }
    *tensor = *described;
    *device_type = from.device_type;
    *device = from.device;
    return {};
  });
}
