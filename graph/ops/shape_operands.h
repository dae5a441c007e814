#pragma once

#include <vector>

#include "ir/graph/graph.h"

namespace tcc {

// Returns, in order, the graph inputs from which operands are computed whose values decide shapes
// (Reshape's shape, Slice's starts). A model with static shapes needs the values of these inputs
// (`--bind`). Results of Shape and Size depend on shapes alone and need none. Operands of nodes in
// bodies count too.
std::vector<ValueId> ShapeInputs(const Graph& graph);

// Returns the same for these values in place of all that decide shapes.
std::vector<ValueId> InputsBehind(const Graph& graph, const std::vector<ValueId>& values);

}  // namespace tcc
