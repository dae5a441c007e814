#pragma once

#include "schedule/analysis/constraint.h"
#include "schedule/analysis/loop_tree.h"

namespace tcc {

// The steps that say how a loop runs. Each only changes the kind of the loop:
//
//   for i in 0..E   -->   for i in 0..E parallel | vectorized | unrolled | partitioned | ...

// Iterations run on any thread, in any order.
struct Parallel {
  LoopRef loop;
  auto Fields() { return std::tie(loop); }
};
// One iteration a vector lane. The extent is known once the sizes are.
struct Vectorize {
  LoopRef loop;
  auto Fields() { return std::tie(loop); }
};
// Replaced by its iterations in order. The extent is known once the sizes are.
struct Unroll {
  LoopRef loop;
  auto Fields() { return std::tie(loop); }
};
// Split into first, interior and last iterations once the sizes are known, so that guards of tails
// and tests of padding vanish in the interior. How many iterations each has, and whether the copies
// are worth it, is the business of the pass PartitionLoops.
struct Partition {
  LoopRef loop;
  auto Fields() { return std::tie(loop); }
};
// A blockIdx, threadIdx or vthread. Comes before buffers are placed at or below the loop. A loop of
// a reduction may be bound to threadIdx.x, and then the innermost one vectorized: a reduction
// across threads (ir/analysis/cross_thread.h).
struct Bind {
  LoopRef loop;
  ForKind kind;
  auto Fields() { return std::tie(loop, kind); }
};

// Refused: a loop that is not serial; for all but Unroll and Partition a loop that feeds a
// reduction, unless that is one across threads then: the only block in its loops, all of which feed
// reduce variables only, and under no vthread; or a loop that feeds an axis that some outputs of a
// tuple lack (DecomposeTuple); Vectorize of a loop that holds another bound loop
// or a serial loop's allocation; Bind to a kind that is no hardware index, or of a threadIdx or
// vthread loop that occurs in the origin of a shared window; a block that would use a loop of a
// hardware index inside another loop of the same one; a nest that runs when the model is linked.
StatusOr<Constraints> CheckParallel(const Function& fn, const Parallel& step);
StatusOr<Constraints> CheckVectorize(const Function& fn, const Vectorize& step);
StatusOr<Constraints> CheckUnroll(const Function& fn, const Unroll& step);
StatusOr<Constraints> CheckPartition(const Function& fn, const Partition& step);
StatusOr<Constraints> CheckBind(const Function& fn, const Bind& step);

Function ApplyParallel(const Function& fn, const Parallel& step);
Function ApplyVectorize(const Function& fn, const Vectorize& step);
Function ApplyUnroll(const Function& fn, const Unroll& step);
Function ApplyPartition(const Function& fn, const Partition& step);
Function ApplyBind(const Function& fn, const Bind& step);

}  // namespace tcc
