#pragma once

#include <cstdint>

#include "ir/graph/graph.h"
#include "support/status.h"

namespace tcc {

// Gives every value its shape and dtype, node by node, from what the node lowers to. Small values
// that are known on the way (shapes of known dimensions and arithmetic on them, Constant nodes)
// become constants and their nodes go, because later shapes may depend on them. Bodies likewise
// (infer_control_flow.h). LSTM, GRU and RNN become what they stand for (expand_recurrence.h).
//
// The shape that a node gives takes the place of one that a graph output was declared with. Fails
// with the node's own error (op_lowering.h); the graph is then half done and of no use.
Status InferShapes(Graph& graph);

// What is left of the work that a model's shapes may take; its bodies share it.
struct InferenceBudget {
  // Block instances of values computed on the way: some 10^7 a second.
  int64_t instances = int64_t{1} << 25;
  // Of what conditions are folded from.
  int64_t bytes = int64_t{1} << 26;
  // Nodes of bodies and of what is written out.
  int64_t nodes = int64_t{1} << 18;
};

// The same within a budget, which is lowered by what was spent. ResourceExhausted, naming the node
// at which it was, where it does not last.
Status InferShapes(Graph& graph, InferenceBudget& budget);

}  // namespace tcc
