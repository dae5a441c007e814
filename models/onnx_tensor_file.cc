#include "models/onnx_tensor_file.h"

#include <climits>

#include "models/onnx_tensor.h"

namespace tcc {

StatusOr<Tensor> ReadOnnxTensorFile(const std::string& path) {
  TCC_ASSIGN_OR_RETURN(SharedBytes file, MapFile(path));
  onnxpb::Tensor proto;
  if (file.bytes.size() > INT_MAX ||
      !proto.ParseFromArray(file.bytes.data(), static_cast<int>(file.bytes.size()))) {
    return InvalidInput("'{}' is not an ONNX tensor", path);
  }
  ExternalData no_files("");
  constexpr TensorLimits kLimits = {.max_bytes = int64_t{1} << 32};
  return ReadOnnxTensor(proto, path, no_files, kLimits);
}

}  // namespace tcc
