#pragma once

#include "graph/passes/infer_shapes.h"
#include "ir/graph/graph.h"

namespace tcc {

// Tries to fold an If's condition to a constant. Evaluates the nodes before it whose operands are
// constants, and an And (Or) with one false (true) operand. The branch that runs decides shapes, so
// this may cost more work than other values are worth here; it is charged to the budget. Leaves a
// condition that depends on run-time values.
void FoldCondition(Graph& graph, ValueId condition, InferenceBudget& budget);

}  // namespace tcc
