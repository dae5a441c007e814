#pragma once

#include "ir/expr/function.h"
#include "schedule/analysis/loop_tree.h"
#include "support/status.h"

namespace tcc {

// Bytes of memory that `stmt`, part of a function without nested blocks, touches while its loops
// run. Each buffer counts with a box of cells (region.h), at most its whole shape; several accesses
// of one box count once. A buffer that lives there, or an index that is not affine in the loops
// inside, counts with the whole window. Local buffers whose loops are all unrolled are registers
// and count as well: they are few.
Expr BytesTouchedBy(const Function& fn, const Stmt& stmt);

// The same of one iteration of `loop`. Error: no such loop.
StatusOr<Expr> FootprintInside(const Function& fn, const LoopRef& loop);

}  // namespace tcc
