#pragma once

#include "ir/expr/function.h"
#include "schedule/analysis/loop_tree.h"
#include "support/status.h"

namespace tcc {

// Returns the bytes of memory that `stmt` touches while its loops run. Each buffer counts with a
// box of cells (region.h), at most its whole shape; several accesses of one box count once. A
// buffer that is allocated inside `stmt`, or an index that is not affine in the loops inside,
// counts with the whole window. Local buffers whose loops are all unrolled become registers and are
// counted all the same: they are few.
Expr BytesTouchedBy(const Function& fn, const Stmt& stmt);

// Returns the bytes that one iteration of `loop` touches. Error: no such loop.
StatusOr<Expr> FootprintInside(const Function& fn, const LoopRef& loop);

}  // namespace tcc
