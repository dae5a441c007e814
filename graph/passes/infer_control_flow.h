#pragma once

#include <vector>

#include "graph/passes/infer_shapes.h"
#include "ir/graph/graph.h"
#include "support/status.h"

namespace tcc {

// Infers the shapes of the bodies and results of an If or Loop from known operand shapes.
//
// Uses a known condition or trip count at once, because shapes may depend on it: an If with a
// constant condition becomes its branch, one with a condition over Shape variables and branches
// that do not fit each other the branch of the usual sizes (an agreement), a Loop that runs once
// becomes its body, and one that does not run becomes its initial values. Moves captured constants
// into the bodies and turns a carried value that never changes into a captured one. Slices are
// scanned along dimension 0 afterwards, with Transposes around the Loop.
//
// Unrolls a Loop whose shapes vary (they depend on the iteration, or a carried value grows) if its
// trip count is known and small.
//
// A trip count may be a formula over Shape variables. Extents of scanned operands and of a carried
// value before and after an iteration are taken to agree where they are free.
//
// Unimplemented: a carried value whose shape changes otherwise, branches of different shapes, a
// scan whose number of slices only a run knows.
struct InferredControlFlow {
  bool stays = true;                  // whether the node stays; its shapes are known then
  std::vector<Node> pending;          // nodes behind it, or in its place, to be inferred next
  std::vector<Agreement> agreements;  // what the node itself takes for granted of free extents
};
StatusOr<InferredControlFlow> InferControlFlow(Graph& graph, Node& node, InferenceBudget& budget);

// Tries to fold a value that decides the graph's structure, say an If's condition, to a constant.
// Evaluates the nodes before it whose operands are constants, and an And (Or) with one false (true)
// operand. This may cost more work than other values are worth here; it is charged to the budget.
// Leaves a value that depends on run-time values.
void FoldValue(Graph& graph, ValueId value, InferenceBudget& budget);

}  // namespace tcc
