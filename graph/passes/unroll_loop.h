#pragma once

#include <cstdint>
#include <vector>

#include "ir/graph/graph_bodies.h"

namespace tcc {

// Returns whether the Loop may be unrolled completely: its trip count is known, no condition skips
// an iteration, and the result is not too large.
bool MayUnroll(const Graph& graph, const Node& loop);

// Returns the first `trips` iterations of the Loop, one after the other, where `body` is its body.
// The nodes give the Loop's results, and their shapes are still to be inferred. Slices are taken
// and stacked by Gather and Concat.
std::vector<Node> UnrollLoop(Graph& graph, const Node& loop, const Graph& body, int64_t trips);

}  // namespace tcc
