#pragma once

#include "graph/passes/infer_shapes.h"
#include "ir/graph/graph.h"

namespace tcc {

// Tries to make a constant of an If's condition, from the graph's nodes before it: those whose
// operands are constants go, as does an And (Or) of which one operand is false (true). Which branch
// runs decides what shapes there are, so that is worth more work than other values are here; it
// comes out of the budget. The condition stays as it is where something of it is known only when
// running.
void FoldCondition(Graph& graph, ValueId condition, InferenceBudget& budget);

}  // namespace tcc
