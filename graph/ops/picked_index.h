#pragma once

#include "graph/ops/node_lowering.h"

// Operators that pick places by computed numbers (Gather*, Scatter*) share one rule. A negative
// number counts from the end. A number that is still outside its axis is an error if it is
// constant, or if Shape variables decide it: the run checks what is free. If it is computed, it is
// clamped to the nearest place inside, so that no model reads or writes outside its tensors.
namespace tcc {

// Returns the index, on an axis of `extent`, that input `input` holds at `position`. Expects
// indices of an integer type that passed CheckPicks.
Expr PickedIndex(NodeLowering& node, size_t input, const std::vector<Expr>& position,
                 const Expr& extent);

// Checks that input `input` holds integers, that constant ones are inside their axes, which have
// the extents `extents` in turn, and that no extent is 0 while there are indices; else
// InvalidArgument. Takes for granted that free extents are large enough for constant indices.
Status CheckPicks(NodeLowering& node, size_t input, const std::vector<Expr>& extents);

}  // namespace tcc
