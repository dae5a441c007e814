#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "graph/ops/node_lowering.h"
#include "ir/graph/graph.h"
#include "support/status.h"

namespace tcc {

// A result of a node as its lowering computes it; the shape is in ONNX's order.
struct NodeResult {
  ValueId value = kNoValue;
  DType dtype;
  std::vector<Expr> shape;
};
std::vector<NodeResult> ResultsOf(const Graph& graph, const Node& node, const LoweredNode& lowered);

// Returns whether the node's lowering gives each result exactly the dtype and the shape that the
// graph has for it, and takes nothing for granted of free extents that the graph does not. False
// for a node that cannot be lowered.
bool GivesItsResults(const Graph& graph, const Node& node);

// Gives every value its shape and dtype, node by node, from the node's lowering. Small values that
// are known on the way (shapes of known dimensions and arithmetic on them, Constant nodes) become
// constants and their nodes go, because later shapes may depend on them. Bodies are treated
// likewise (infer_control_flow.h). LSTM, GRU and RNN are expanded (expand_recurrence.h).
//
// Shapes are formulas where dimensions are free, as are the elements of small integer tensors that
// they decide. What nodes take for granted of free dimensions is noted as the graph's agreements; a
// Shape variable that one settles is replaced everywhere, in inputs too (agreements.h).
//
// An inferred shape replaces the declared one of a graph output. Fails with the node's own error
// (op_lowering.h); the graph is then incomplete and must be discarded.
Status InferShapes(Graph& graph);

// The remaining work that a model's shapes may take; its bodies share it.
struct InferenceBudget {
  // The block instances of values computed on the way: some 10^7 per second.
  int64_t instances = int64_t{1} << 25;
  // The bytes of the values that conditions are folded from.
  int64_t bytes = int64_t{1} << 26;
  // The number of nodes in bodies and in unrolled loops.
  int64_t nodes = int64_t{1} << 18;
};

// Infers the shapes of a body or another part of a graph within a budget, which it lowers by the
// work done. Its agreements are noted in it, but settle no variable: the whole graph has them too.
// ResourceExhausted, naming the node, if the budget runs out.
Status InferShapes(Graph& part, InferenceBudget& budget);

// Returns false where a dimension that both shapes know differs.
bool ShapesAgree(const std::vector<Expr>& a, const std::vector<Expr>& b);

// Returns the shapes that a model declares for its outputs; {} for an output without one. Programs
// that edit models often leave stale shapes behind.
std::vector<std::vector<Expr>> DeclaredShapes(const Graph& graph);

// Returns a message for each output of the graph whose inferred shape contradicts the declared one.
// `names` are the model's. A dimension known on one side only is no contradiction.
std::vector<std::string> ContradictedShapes(const Graph& graph,
                                            const std::vector<std::string>& names,
                                            const std::vector<std::vector<Expr>>& declared);

}  // namespace tcc
