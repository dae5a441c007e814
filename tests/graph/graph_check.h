#pragma once

#include "ir/graph/graph.h"
#include "support/tensor.h"

// Graphs before and after passes, for the tests of passes.
namespace tcc {

int CountOf(const Graph& graph, OpKind op);
// Its first output; fails the test where there is none.
Tensor RunGraph(const Graph& graph, const Tensor& input);
// The graph after all passes; with and without them it gives the same for a random input, to 1e-5
// of the largest element.
Graph CheckSameAfterPasses(const Graph& original);
// Widens each float number of the graph in turn to a constant [3, ..] that stretches the first
// input by broadcasting, and checks that the passes change no result. Variants that ONNX forbids
// count as none; returns how many were checked.
int CheckSameWithWideNumbers(const Graph& original);

}  // namespace tcc
