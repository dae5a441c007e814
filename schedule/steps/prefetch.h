#pragma once

#include "schedule/analysis/constraint.h"
#include "schedule/analysis/loop_tree.h"

namespace tcc {

// The iterations that a later one's lines are spread over. The text of a trace leaves kAll out.
enum class PrefetchPace : uint8_t { kAll, kPresent };

// During one iteration of loop `over`, prefetches the cache lines that the iteration `distance`
// later will read, spread evenly over the iterations of the loops down to `at`.
//
//   for j in 0..J                    for j in 0..J
//     for i in 0..I                    for i in 0..I
//       for k in 0..K           -->      for k in 0..K
//         S: .. B[k, j*n + x] ..           if (i*K + k) mod every = 0
//                                            for p in 0..P unrolled               B.prefetch/p
//                                              line = (i*K + k) div every * P + p
//                                              if line < L: prefetch B[that line of panel j + 1]
//                                          S: .. B[k, j*n + x] ..
//
// The cells are numbered as the block reads them: by the loops inside `over` that occur in its
// first access of the buffer, in their order. If that is the storage order (packed panels), every
// 64-byte line is prefetched exactly once. With L lines an iteration of `over` and N iterations
// down to `at`: every is the largest power of two up to N div L and 64, P = ceildiv(L, ceildiv(N,
// every)). Conditions that always hold are left out. Where a free extent ends the block early, the
// N iterations are those that it has instances in, so that few rows ask for all lines, too; P, at
// most 64, is then a formula. With `over` equal to `at`, one iteration prefetches all lines of the
// later one.
struct Prefetch {
  std::string block;
  std::string buffer;
  LoopRef over;
  LoopRef at;
  Expr distance;  // in iterations of `over`, >= 1
  PrefetchPace pace = PrefetchPace::kAll;
  auto Fields() { return std::tie(block, buffer, over, at, distance, pace); }
};

// Refused: a block that does not read the buffer, or at an index that is itself read from memory; a
// loop `over` that does not enclose the block; a loop `at` that is neither `over` nor inside it, or
// is inside a vectorized loop; a buffer whose live range is shorter than `over`, or whose prefetch
// is in the function already; a distance that is provably below 1. Constraint: P <= 64,
// as kAll counts it.
StatusOr<Constraints> CheckPrefetch(const Function& fn, const Prefetch& step);
Function ApplyPrefetch(const Function& fn, const Prefetch& step);

}  // namespace tcc
