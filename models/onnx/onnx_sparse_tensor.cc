#include "models/onnx/onnx_sparse_tensor.h"

#include <algorithm>
#include <cstring>

#include "support/extents.h"

namespace tcc {
namespace {

// The largest dense form: a few bytes of a model can ask for any.
constexpr int64_t kMaxDenseBytes = int64_t{1} << 30;

class SparseReader {
 public:
  SparseReader(onnxpb::SparseTensor& proto, const std::string& what)
      : proto_(proto), what_(what), shape_(proto.dims().begin(), proto.dims().end()) {}

  StatusOr<Tensor> Read(ExternalData& files, const TensorLimits& limits) {
    TCC_ASSIGN_OR_RETURN(
        Tensor values, ReadOnnxTensor(*proto_.mutable_values(), what_ + ", values", files, limits));
    if (values.shape.size() != 1)
      return InvalidInput("{}: values are {}; expected a list", what_, ToString(values));
    TCC_RETURN_IF_ERROR(CheckDense(values.dtype));
    Tensor dense = MakeZeroTensor(values.dtype, shape_);
    int64_t count = values.shape[0];
    if (count == 0 && !proto_.has_indices()) return dense;
    TCC_ASSIGN_OR_RETURN(Tensor indices, ReadOnnxTensor(*proto_.mutable_indices(),
                                                        what_ + ", indices", files, limits));
    TCC_RETURN_IF_ERROR(CheckForm(indices, count));
    auto width = static_cast<size_t>(values.dtype.bytes());
    uint8_t* out = MutableBytes(dense).data();
    int64_t last = -1;
    for (int64_t i = 0; i < count; ++i) {
      TCC_ASSIGN_OR_RETURN(int64_t place, PlaceOf(indices, i));
      if (place <= last) {
        return InvalidInput("{}: index {} {}; expected ascending indices", what_, i,
                            place == last ? "repeats the one before" : "is before the one before");
      }
      last = place;
      std::memcpy(out + static_cast<size_t>(place) * width,
                  values.bytes.data() + static_cast<size_t>(i) * width, width);
    }
    return dense;
  }

 private:
  Status CheckDense(DType dtype) {
    if (shape_.empty()) return InvalidInput("{}: has no dimensions; expected 1 or more", what_);
    TCC_RETURN_IF_ERROR(Annotate(CheckExtents(shape_), what_));
    if (dtype.bits() < 8) return Unsupported("{}: sparse elements of {}", what_, ToString(dtype));
    TCC_ASSIGN_OR_RETURN(int64_t bytes, ByteCount(dtype, shape_));
    if (bytes <= kMaxDenseBytes) return OkStatus();
    return Unsupported("{}: takes {} bytes in dense form; at most {} are supported", what_, bytes,
                       kMaxDenseBytes);
  }

  Status CheckForm(const Tensor& indices, int64_t count) const {
    std::vector<int64_t> linear = {count};
    std::vector<int64_t> coordinates = {count, static_cast<int64_t>(shape_.size())};
    bool fits = indices.shape == linear || indices.shape == coordinates;
    if (indices.dtype == kInt64 && fits) return OkStatus();
    return InvalidInput("{}: indices are {}; expected i64[{}] or i64[{}]", what_, ToString(indices),
                        ShapeToString(linear), ShapeToString(coordinates));
  }

  // Returns the row-major position of the i-th value.
  StatusOr<int64_t> PlaceOf(const Tensor& indices, int64_t i) const {
    if (indices.shape.size() == 1) {
      TCC_ASSIGN_OR_RETURN(int64_t elements, ElementCount(shape_));
      return InRange(ElementAsInt(indices, i), i, elements);
    }
    auto rank = static_cast<int64_t>(shape_.size());
    int64_t place = 0;
    for (int64_t d = 0; d < rank; ++d) {
      TCC_ASSIGN_OR_RETURN(int64_t at, InRange(ElementAsInt(indices, i * rank + d), i, shape_[d]));
      place = place * shape_[d] + at;
    }
    return place;
  }

  StatusOr<int64_t> InRange(int64_t index, int64_t i, int64_t extent) const {
    if (index >= 0 && index < extent) return index;
    return InvalidInput("{}: index {} is {}; expected 0 to {} for shape {}", what_, i, index,
                        extent - 1, ShapeToString(shape_));
  }

  onnxpb::SparseTensor& proto_;
  const std::string& what_;
  std::vector<int64_t> shape_;
};

}  // namespace

StatusOr<Tensor> ReadSparseTensor(onnxpb::SparseTensor& proto, const std::string& what,
                                  ExternalData& files, const TensorLimits& limits) {
  return SparseReader(proto, what).Read(files, limits);
}

}  // namespace tcc
