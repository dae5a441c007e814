#pragma once

#include "schedule/analysis/constraint.h"
#include "schedule/space/trace.h"
#include "support/target.h"

namespace tcc {

// Copies of a statement that a nest may unroll into; beyond, code leaves the instruction cache and
// compile times grow.
inline constexpr int64_t kMaxStatements = 4096;
inline constexpr int64_t kMaxVthreads = 8;
// Lanes that VectorizeLoops makes; a wider loop stays a loop.
inline constexpr int64_t kMaxLanes = 256;

// What must hold at a point for `fn` (kScheduled, sizes free) to fit the target, as formulas over
// its free sizes. What holds at every point is left out. Bounds of speed rather than of the machine
// (registers, statements, caches) are left out too where even the smallest tiles break them: then
// they say nothing about tiles. Where `start`, a value for every free size, is beyond one, what it
// takes is the bound.
//
// GPU, each launch: threads by axis and in all; whole warps beyond the first; blocks by axis;
// shared bytes; registers of a thread and of a block; vthreads; width and alignment of vectors.
// CPU: the register tile; the operands of one tile fit L2, or where a reduction is in steps that
// tiles take turns with, one tile's fit L1 and all of a step L2; a reduction is computed at most
// four times over, padding and what neighbours compute again included.
// Both: statements and lanes. For the reference target nothing.
Constraints LimitsOf(const Function& fn, const Target& target, const Decisions& start = {});

// The program with the limits of the target among its constraints.
SymbolicProgram WithLimits(SymbolicProgram program, const Target& target,
                           const Decisions& start = {});

}  // namespace tcc
