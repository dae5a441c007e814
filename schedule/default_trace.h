#pragma once

#include "ir/target.h"
#include "schedule/trace.h"

namespace tcc {

// A schedule for `fn` (kTensor, static extents) that is always legal and decent: the reference that
// tuned kernels are checked against. Every size in it is known.
//
// CPU: a reduction gets a register tile (rows of the last axes by vectors along the last one) as a
// local accumulator, its element-wise consumer or a write-back right after the tile, and its outer
// loops in parallel; one along contiguous rows keeps partial results in lanes and takes the blocks
// after it along, row by row (row_reduction.h); a map gets its outer loops in parallel and vectors
// along its last axis. Tails are guarded. The reference target gets no steps.
Trace DefaultTrace(const Function& fn, const Target& target);

}  // namespace tcc
