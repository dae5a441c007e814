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
// Each iteration is a vector lane. The extent is known once the sizes are.
struct Vectorize {
  LoopRef loop;
  auto Fields() { return std::tie(loop); }
};
// The loop is replaced by its iterations in order. The extent is known once the sizes are.
struct Unroll {
  LoopRef loop;
  auto Fields() { return std::tie(loop); }
};
// The loop is split into first, interior and last iterations once the sizes are known, so that tail
// guards and padding tests vanish in the interior. The pass PartitionLoops decides how many
// iterations each part has, and whether the copies are worth it.
struct Partition {
  LoopRef loop;
  auto Fields() { return std::tie(loop); }
};
// The loop becomes a blockIdx, threadIdx or vthread. Bind it before placing buffers at or below it.
// A loop of a reduction may be bound to threadIdx.x, and then the innermost one vectorized: a
// reduction across threads (ir/analysis/cross_thread.h).
struct Bind {
  LoopRef loop;
  ForKind kind;
  auto Fields() { return std::tie(loop, kind); }
};

// Refused: a loop that is not serial; for all but Unroll and Partition, a loop that feeds a
// reduction, unless that becomes a reduction across threads (the only block in its loops, all of
// which feed only reduce variables, and under no vthread), or a loop that feeds an axis that some
// outputs of a tuple lack (RFactorTile); Vectorize of a loop that holds another bound loop or a
// serial loop's allocation; Bind to a kind that is no hardware index, or to a threadIdx or vthread
// if the loop occurs in the origin of a shared window; a block that would use a loop of a hardware
// index inside another loop of the same index; a nest that runs when the model is linked.
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
