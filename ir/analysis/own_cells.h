#pragma once

#include <vector>

#include "ir/expr/stmt.h"

namespace tcc {

// A local buffer, a thread's own, in whose dimension every access is at the number of the thread
// itself, loses that dimension: a thread would have room for what others compute and use one cell,
// at an index that is no constant. So does one in whose dimension every access is at the same
// constant: where rows are one, that is what becomes of the thread's number.
//
//   alloc m: [N] local window [i0*4] size [4]            alloc m: [1] local
//   for y threadIdx.y { block m: m[i0*4 + y] = .. }  -->  for y threadIdx.y { block m: m[0] = .. }
//   for y threadIdx.y { .. m[i0*4 + y] .. }               for y threadIdx.y { .. m[0] .. }
//
// Loops of one axis have one variable each wherever they stand, so this is where threads that meet
// in several nests are known to be the same. `stmt` is kScheduled, sizes may be free.
Stmt KeepOwnCells(const Stmt& stmt);

// The axes for which a buffer has such a dimension: the threads along them may write it in loops
// inside its life.
std::vector<ForKind> AxesOfOwnCells(const Allocate& allocate);

}  // namespace tcc
