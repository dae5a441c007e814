#pragma once

#include <cstddef>
#include <optional>

#include "ir/graph/graph.h"

namespace tcc {

// Returns the rank of a value in a graph under construction, as far as it follows without shape
// inference: from constants, the graph's inputs, and nodes whose result's rank follows from their
// operands' ranks. Returns nullopt otherwise, and for inputs without a dimension.
std::optional<size_t> KnownRank(const Graph& graph, ValueId id);

}  // namespace tcc
