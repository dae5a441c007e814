#pragma once

#include <string>
#include <vector>

#include "ir/graph/graph.h"
#include "models/onnx/onnx_ops.h"

namespace tcc {

// Checks a node's operands against its operator's signature and returns the dtypes of its results,
// `outputs` of them; dtypes that normalization sets (*) are f32 for now. Inputs that are kNoValue
// are skipped.
//
// Fails with Unimplemented for a type that the operator does not take; with InvalidArgument for two
// operands that should have the same type and do not, or an index that is no integer. `where`
// begins the messages.
StatusOr<std::vector<DType>> CheckTypes(const Graph& graph, const OnnxOp& op,
                                        const std::vector<ValueId>& inputs, size_t outputs,
                                        const std::string& where);

}  // namespace tcc
