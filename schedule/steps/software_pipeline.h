#pragma once

#include "schedule/analysis/constraint.h"
#include "schedule/analysis/loop_tree.h"

namespace tcc {

// The most stages of a pipeline: each has code of its own, before the loop.
inline constexpr int64_t kMaxStages = 64;

// Starts the copies of later iterations while the current one computes.
//
//   for k in 0..K {                            for k in 0..K pipelined {
//     alloc A_s shared {                         alloc A_s shared versions S {
//       A_s = A[.. k ..]           -->             A_s = A[.. k ..]
//       .. A_s ..                                  .. A_s ..
//   } }                                        } }
//
// The step marks the loop and moves the copies in front of their uses; the pass PipelineLoops moves
// them S - 1 iterations ahead. Staged are the buffers that depend on nothing else of an iteration.
// `kind` is "pipelined" (each thread copies through registers, which are loaded before the
// iteration's work and stored after it) or "pipelined_async" (AsyncCopy).
struct SoftwarePipeline {
  LoopRef loop;
  Expr stages;  // S; 1 changes nothing
  ForKind kind = ForKind::kPipelined;
  auto Fields() { return std::tie(loop, stages, kind); }
};

// Refused: a loop that is not serial, or has a pipeline around or inside it; a body without a
// shared or global buffer that is written and then read; copies that access what the uses write, or
// staging registers that a use reads too; a staged buffer whose size changes with the loop.
// Constraints: 1 - stages <= 0, stages - kMaxStages <= 0.
StatusOr<Constraints> CheckSoftwarePipeline(const Function& fn, const SoftwarePipeline& step);
Function ApplySoftwarePipeline(const Function& fn, const SoftwarePipeline& step);

}  // namespace tcc
