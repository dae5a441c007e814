#pragma once

#include <string>

#include "models/onnx/onnx_tensor.h"

namespace tcc {

// Returns a sparse tensor in its dense form, zero where no value is listed. Indices are positions
// in row-major order ([NNZ]) or have a coordinate a dimension ([NNZ, rank]). `what` begins the
// messages.
//
// Refused: all that ReadOnnxTensor refuses for values or indices; indices of another shape or type,
// out of range, out of order or given twice. Unimplemented: 4-bit types, and a dense form beyond
// 1 GiB.
StatusOr<Tensor> ReadSparseTensor(onnxpb::SparseTensor& proto, const std::string& what,
                                  ExternalData& files, const TensorLimits& limits);

}  // namespace tcc
