#pragma once

#include <cstdint>
#include <vector>

#include "ir/graph/graph_bodies.h"

namespace tcc {

// Whether all of the Loop's iterations may be written out: their number is known, none is left out
// by a condition, and what comes of it is not too large.
bool MayUnroll(const Graph& graph, const Node& loop);

// The first `trips` iterations one after the other, `body` being the Loop's: nodes whose shapes are
// still to be inferred and that give the Loop's results. Slices are taken and stacked by Gather and
// Concat.
std::vector<Node> UnrollLoop(Graph& graph, const Node& loop, const Graph& body, int64_t trips);

}  // namespace tcc
