#pragma once

#include "ir/expr/function.h"
#include "ir/support/status.h"
#include "schedule/analysis/loop_tree.h"

namespace tcc {

// Bytes of memory that one iteration of `loop` touches while the loops inside it run. Each buffer
// counts with a box of cells (region.h), at most its whole shape; several accesses of one box count
// once. A buffer that lives there, or an index that is not affine in the loops inside, counts with
// the whole window. Local buffers whose loops are all unrolled are registers and count as well:
// they are few. Error: no such loop.
StatusOr<Expr> FootprintInside(const Function& fn, const LoopRef& loop);

}  // namespace tcc
