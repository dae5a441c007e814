#pragma once

#include <string>

#include "ir/support/tensor.h"

namespace tcc {

// The tensor of a file that holds one ONNX TensorProto and nothing else (input_0.pb of ONNX's own
// tests). External data is refused. Fails with the path.
StatusOr<Tensor> ReadOnnxTensorFile(const std::string& path);

}  // namespace tcc
