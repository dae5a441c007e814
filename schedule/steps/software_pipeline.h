#pragma once

#include "schedule/analysis/constraint.h"
#include "schedule/analysis/loop_tree.h"
#include "schedule/steps/issue_order.h"

namespace tcc {

// Every stage has code of its own, before the loop.
inline constexpr int64_t kMaxStages = 64;

// The copies of later iterations start while this one computes.
//
//   for k in 0..K {                            for k in 0..K pipelined {
//     alloc A_s shared {                         alloc A_s shared versions S {
//       A_s = A[.. k ..]           -->             A_s = A[.. k ..]
//       .. A_s ..                                  .. A_s ..
//   } }                                        } }
//
// The step marks; the pass PipelineLoops moves the copies S - 1 iterations ahead. `kind` is
// "pipelined" (copies by each thread: with a copy in registers on the way, which is loaded before
// the iteration's work and stored after it) or "pipelined_async" (AsyncCopy). With an order, say
// [first, A_s, second], the steady iteration is
//
//   first(k); if k + S - 1 < K { A_s(k + S - 1) }; second(k)
//
// so that copies are issued in the shadow of what is computed, and uses in an order of their own.
struct SoftwarePipeline {
  LoopRef loop;
  Expr stages;  // S; 1 changes nothing
  ForKind kind = ForKind::kPipelined;
  IssueOrder order = {};
  auto Fields() { return std::tie(loop, stages, kind, order); }
};

// Refused: a loop that is not serial or has a pipeline round or inside it; a body in which no
// shared or global buffer lives that its first statements write and later ones read; copies after
// uses, copies that read what the uses write, or registers on the way that a use reads too; a
// staged buffer whose size changes with the loop; what CheckIssueOrder refuses of an order.
// Constraints: 1 - stages <= 0, stages - kMaxStages <= 0.
StatusOr<Constraints> CheckSoftwarePipeline(const Function& fn, const SoftwarePipeline& step);
Function ApplySoftwarePipeline(const Function& fn, const SoftwarePipeline& step);

}  // namespace tcc
