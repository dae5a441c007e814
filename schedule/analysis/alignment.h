#pragma once

#include "ir/expr/function.h"
#include "schedule/analysis/constraint.h"

namespace tcc {

// What must hold for each vector access of memory to start at a whole vector, so that a machine can
// do it at once: in the offset of a cell whose lanes lie side by side, the coefficients of all
// other loops, and what no loop is in, are multiples of the lanes. Sufficient, and necessary where
// those loops run at all. Buffers start at whole vectors themselves.
Constraints AlignmentOf(const Function& fn);

}  // namespace tcc
