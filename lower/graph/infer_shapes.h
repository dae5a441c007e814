#pragma once

#include "ir/graph.h"
#include "ir/support/status.h"

namespace tcc {

// Gives every value its shape and dtype, node by node, from what the node lowers to. Small values
// that are known on the way (shapes of known dimensions and arithmetic on them, Constant nodes)
// become constants and their nodes go, because later shapes may depend on them. Bodies likewise
// (infer_control_flow.h). LSTM, GRU and RNN become what they stand for (expand_recurrence.h).
//
// A shape that a graph output was declared with is checked against the inferred one. Fails with the
// node's own error (op_lowering.h); the graph is then half done and of no use.
Status InferShapes(Graph& graph);

}  // namespace tcc
