#pragma once

#include <vector>

#include "graph/ops/node_lowering.h"

namespace tcc {

// The axes of a reduction's output and input, and the input's index over them.
struct ReductionAxes {
  std::vector<Axis> axes;         // the output's axes
  std::vector<Axis> reduce_axes;  // the reduced axes, in the order of the input's dimensions
  std::vector<Expr> input_index;
};

enum class ReducedDims : uint8_t { kDropped, kKept };  // kept means with an extent of 1

// Returns the axes of a reduction of input 0 that combines dimension d where reduced[d].
ReductionAxes AxesFor(const NodeLowering& node, const std::vector<bool>& reduced, ReducedDims dims);

// Returns `rank` flags, of which only the one of `axis` is set.
std::vector<bool> OnlyAxis(size_t rank, int axis);

// Returns the number of elements of the shape, in `type`.
Expr CountAs(DType type, const std::vector<Expr>& shape);

// Maps the indices of an element to those of the row that it is reduced to, dimensions kept.
std::vector<Expr> RowOfElement(std::vector<Expr> indices, const std::vector<bool>& reduced);

}  // namespace tcc
