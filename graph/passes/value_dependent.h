#pragma once

#include <cstdint>
#include <vector>

#include "ir/graph/graph.h"
#include "support/status.h"

namespace tcc {

// Returns whether the size of the operator's result depends on operand values: NonZero, Compress,
// Unique. Kernels have fixed shapes, so these are evaluated here once their operands are constants;
// none is left behind shape inference.
bool IsValueDependent(OpKind op);

// Evaluates the outputs (an empty tensor for one that is left out). Unimplemented while an operand
// is computed at run time, InvalidArgument for a node that ONNX forbids, ResourceExhausted for more
// than `max_bytes`.
StatusOr<std::vector<Tensor>> EvaluateValueDependent(const Graph& graph, const Node& node,
                                                     int64_t max_bytes);

}  // namespace tcc
