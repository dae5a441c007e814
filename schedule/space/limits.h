#pragma once

#include "schedule/analysis/constraint.h"
#include "schedule/space/trace.h"
#include "support/target.h"

namespace tcc {

// The most copies of a statement that a nest may unroll into. With more, the code no longer fits
// the instruction cache and compile times grow.
inline constexpr int64_t kMaxStatements = 4096;
inline constexpr int64_t kMaxVthreads = 8;
// The most lanes that VectorizeLoops makes; a wider loop stays a loop.
inline constexpr int64_t kMaxLanes = 256;

// Returns what must hold at a point for `fn` (kScheduled, free sizes) to fit the target, as
// formulas over its free sizes. Conditions that hold at every point are left out. Bounds for speed
// (registers, statements, caches), as opposed to the machine's limits, are also left out if even
// the smallest tiles break them: then they say nothing about tiles. `start` has a value for every
// free size; where it exceeds such a bound, the amount at `start` becomes the bound.
//
// GPU, each launch: threads per axis and in all; whole warps beyond the first; blocks per axis;
// shared bytes; registers per thread and per block; vthreads; width and alignment of vectors. CPU:
// the register tile fits; the operands of one tile fit L2, or, if tiles take turns within steps of
// the reduction, one tile's operands fit L1 and those of a whole step L2; a reduction is computed
// at most four times over, counting padding and recomputation by neighbours. Both: statements and
// lanes. The reference target has no limits.
Constraints LimitsOf(const Function& fn, const Target& target, const Decisions& start = {});

// Returns the program with the limits of the target among its constraints.
SymbolicProgram WithLimits(SymbolicProgram program, const Target& target,
                           const Decisions& start = {});

}  // namespace tcc
