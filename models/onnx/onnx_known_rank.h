#pragma once

#include <cstddef>
#include <optional>

#include "ir/graph/graph.h"

namespace tcc {

// How many dimensions a value of a graph under construction has, as far as that follows without
// shape inference: from constants, the graph's inputs, and nodes whose result's rank follows from
// their operands' ranks. nullopt where it does not, and for inputs without a dimension.
std::optional<size_t> KnownRank(const Graph& graph, ValueId id);

}  // namespace tcc
