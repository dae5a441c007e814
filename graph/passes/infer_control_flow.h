#pragma once

#include <vector>

#include "graph/passes/infer_shapes.h"
#include "ir/graph/graph.h"
#include "support/status.h"

namespace tcc {

// Shapes of an If's or a Loop's bodies and results, the shapes of the operands being known.
//
// What is known of the condition and the trip count is used up here, because shapes may depend on
// it: an If whose condition is constant is its branch, a Loop that runs once is its body, one that
// does not run gives its initial values. Captured constants go into the bodies; a carried value
// that never changes is a captured one; slices are scanned along dimension 0 afterwards, with
// Transposes around the Loop.
//
// A Loop whose body has no shapes of its own (they depend on the iteration, or a carried value
// grows) is written out if its trip count is known and small.
//
// Unimplemented: a carried value that changes its shape otherwise, branches that give different
// shapes, a scan whose number of slices is not known.
struct InferredControlFlow {
  bool stays = true;          // the node; its shapes are known then
  std::vector<Node> pending;  // nodes after it, or in its place, still to be looked at
};
StatusOr<InferredControlFlow> InferControlFlow(Graph& graph, Node& node, InferenceBudget& budget);

}  // namespace tcc
