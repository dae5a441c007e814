#pragma once

#include <string_view>

#include "graph/ops/node_lowering.h"

namespace tcc {

// Returns the form of the node's operator; a BatchNormalization that trains is a reduction.
OpForm FormOf(const Node& node);

// Returns what the node computes. The output shapes and dtypes follow from the program's outputs.
// InvalidArgument for a node that ONNX forbids, Unimplemented for one that tcc does not support;
// the message names node and operator, what was expected and what came.
StatusOr<LoweredNode> LowerNode(const Graph& graph, const Node& node);

}  // namespace tcc
