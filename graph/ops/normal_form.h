#pragma once

#include "graph/ops/node_lowering.h"
#include "ir/graph/graph.h"

namespace tcc {

// Returns the form in which a graph keeps a formula over its Shape variables: simplified, and the
// first of two formulas that agree. Extents with one form are the same to every pass.
Expr NormalForm(const Graph& graph, const Expr& formula);

// Puts the dimensions of the program's buffers and the extents of its axes into normal form.
void NormalizeShapes(const Graph& graph, TensorProgram& program);

}  // namespace tcc
