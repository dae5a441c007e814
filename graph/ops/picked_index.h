#pragma once

#include "graph/ops/node_lowering.h"

// Operators that pick places by computed numbers (Gather*, Scatter*) share one rule. A number
// counts from the end where it is negative. One that is still outside its axis is an error where it
// is a constant, and is clamped to the nearest place inside where it is computed, so that no model
// reads or writes outside its tensors.
namespace tcc {

// The axis of `extent` at the place that `position` of input `input` names. Expects indices of an
// integer type that CheckPicks has seen.
Expr PickedIndex(NodeLowering& node, size_t input, const std::vector<Expr>& position,
                 const Expr& extent);

// InvalidArgument unless input `input` holds integers, constant ones inside their axes, which have
// the extents `extents`, taken in turn; and unless none of those is 0 while there are indices.
Status CheckPicks(const NodeLowering& node, size_t input, const std::vector<Expr>& extents);

}  // namespace tcc
