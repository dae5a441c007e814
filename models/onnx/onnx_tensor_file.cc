#include "models/onnx/onnx_tensor_file.h"

#include <climits>

#include "models/onnx/onnx_tensor.h"

namespace tcc {

StatusOr<Tensor> ParseOnnxTensor(std::span<const uint8_t> bytes, const std::string& name) {
  onnxpb::Tensor proto;
  if (bytes.size() > INT_MAX ||
      !proto.ParseFromArray(bytes.data(), static_cast<int>(bytes.size()))) {
    return InvalidInput("'{}' is not an ONNX tensor", name);
  }
  ExternalData no_files("");
  constexpr TensorLimits kLimits = {.max_bytes = int64_t{1} << 32};
  return ReadOnnxTensor(proto, name, no_files, kLimits);
}

StatusOr<Tensor> ReadOnnxTensorFile(const std::string& path) {
  TCC_ASSIGN_OR_RETURN(SharedBytes file, MapFile(path));
  return ParseOnnxTensor(file.bytes, path);
}

}  // namespace tcc
