#pragma once

#include "ir/expr/function.h"
#include "schedule/analysis/constraint.h"

namespace tcc {

// Returns the conditions under which every vector access is aligned to its vector's size, so that
// it can be one instruction. For an access whose lanes are contiguous, the cell's offset must have
// coefficients of all other loops and a constant term that are multiples of the lanes. This is
// sufficient, and necessary wherever those loops run at all. Buffers themselves are aligned to
// whole vectors.
Constraints AlignmentOf(const Function& fn);

}  // namespace tcc
