#pragma once

#include <cstdint>
#include <span>
#include <string>

#include "support/tensor.h"

namespace tcc {

// Reads the tensor of a file that holds one ONNX TensorProto and nothing else (input_0.pb of ONNX's
// own tests). External data is refused. Errors name the path.
StatusOr<Tensor> ReadOnnxTensorFile(const std::string& path);
// Parses the content of such a file; `name` begins the messages.
StatusOr<Tensor> ParseOnnxTensor(std::span<const uint8_t> bytes, const std::string& name);

}  // namespace tcc
