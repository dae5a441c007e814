#pragma once

#include <vector>

#include "ir/graph/graph.h"

namespace tcc {

// The graph's inputs that an operand is computed from on whose value shapes depend (Reshape's
// shape, Slice's starts), in order: those that a model with static shapes needs the values of
// (`--bind`). What comes out of Shape and Size depends on shapes alone and needs none. Operands of
// nodes in bodies count too.
std::vector<ValueId> ShapeInputs(const Graph& graph);

// The same for one value.
std::vector<ValueId> InputsBehind(const Graph& graph, ValueId value);

}  // namespace tcc
