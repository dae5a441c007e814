#pragma once

#include <vector>

#include "graph/ops/node_lowering.h"

namespace tcc {

// The axes of a reduction's output and input, and where the two meet.
struct ReductionAxes {
  std::vector<Axis> axes;         // of the output
  std::vector<Axis> reduce_axes;  // in the order of the input's dimensions
  std::vector<Expr> input_index;
};

enum class ReducedDims : uint8_t { kDropped, kKept };  // kept with an extent of 1

// Over input 0, whose dimension d is combined where reduced[d].
ReductionAxes AxesFor(const NodeLowering& node, const std::vector<bool>& reduced, ReducedDims dims);

// One reduced dimension of `rank`.
std::vector<bool> OnlyAxis(size_t rank, int axis);

// The number of elements, in this type.
Expr CountAs(DType type, const std::vector<Expr>& shape);

// `indices` of an element brought to those of the row that it is reduced to, dimensions kept.
std::vector<Expr> RowOfElement(std::vector<Expr> indices, const std::vector<bool>& reduced);

}  // namespace tcc
