#pragma once

#include "schedule/analysis/constraint.h"
#include "schedule/analysis/loop_tree.h"

namespace tcc {

// Makes a buffer that is placed in a serial loop keep the cells that the next iteration reads
// again: one dimension becomes circular, the buffer outlives the loop, and an iteration computes
// only the new cells.
//
//   for y in 0..Y {                              allocate T window [0] size [S] circular 0 {
//     allocate T window [y*s] size [S] {           for a in 0..S - s { T[a] = f(a) }     block
//     t.fill
//       for a in 0..S { T[y*s + a] = f(..) }       for y in 0..Y {
//       .. T[y*s + r] ..               -->           for a in 0..s { T[y*s + S - s + a] = f(..) }
//     } }                                            .. T[y*s + r] ..
//                                                  } }
//
// Each iteration of the loops further out (a parallel chunk, say) fills the buffer anew.
struct RollingBuffer {
  std::string buffer;
  int64_t dim = 0;
  auto Fields() { return std::tie(buffer, dim); }
};

// Refused: a buffer that is not placed in a serial loop, or is circular already; an origin that
// changes in another dimension, or not by a constant step; several writers, or one whose nest is
// not as ComputeAt leaves it in that dimension (roll first, then split and decompose); a producer
// that reads a buffer allocated inside the loop. Constraints: 1 <= s <= S.
StatusOr<Constraints> CheckRollingBuffer(const Function& fn, const RollingBuffer& step);
Function ApplyRollingBuffer(const Function& fn, const RollingBuffer& step);

}  // namespace tcc
