#pragma once

#include "ir/expr/function.h"
#include "ir/support/status.h"
#include "schedule/analysis/loop_tree.h"

namespace tcc {

// Bytes of memory that one iteration of `loop` touches while its own loops run: a box of cells for
// each buffer (region.h), at most its whole shape, once for several accesses of one box; whole
// windows of buffers that live there, or where an index is not affine in the loops inside. Local
// buffers whose loops are all unrolled are registers and count as well: they are few. Error: no
// such loop.
StatusOr<Expr> FootprintInside(const Function& fn, const LoopRef& loop);

}  // namespace tcc
