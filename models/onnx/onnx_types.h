#pragma once

#include <string>
#include <vector>

#include "ir/graph/graph.h"
#include "models/onnx/onnx_ops.h"

namespace tcc {

// Holds a node's operands against its operator's signature and gives the dtypes of `outputs`
// results; those that normalization knows (*) come as f32. Inputs that are kNoValue are passed
// over.
//
// A type that the operator does not take is Unimplemented; two operands that should be of one type
// and are not, or an index that is no integer, is InvalidArgument. `where` begins the messages.
StatusOr<std::vector<DType>> CheckTypes(const Graph& graph, const OnnxOp& op,
                                        const std::vector<ValueId>& inputs, size_t outputs,
                                        const std::string& where);

}  // namespace tcc
