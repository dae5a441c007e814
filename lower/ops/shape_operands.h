#pragma once

#include <vector>

#include "ir/graph.h"

namespace tcc {

// Whether the shape of a node's outputs depends on the value of this operand (Reshape's shape,
// Slice's starts): it must be a constant once shapes are inferred.
bool IsShapeOperand(OpKind op, size_t operand);

// The graph's inputs that such an operand is computed from, in order: those that a model with
// static shapes needs the values of (`--bind`). What comes out of Shape and Size depends on shapes
// alone and needs none. Operands of nodes in bodies count too.
std::vector<ValueId> ShapeInputs(const Graph& graph);

// The same for one value.
std::vector<ValueId> InputsBehind(const Graph& graph, ValueId value);

}  // namespace tcc
