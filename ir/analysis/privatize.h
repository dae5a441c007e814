#pragma once

#include <vector>

#include "ir/expr/stmt.h"

namespace tcc {

// Privatizes local (per-thread) buffers: removes the dimensions in which every access is at the
// thread's own number. Otherwise a thread would have cells for the results of all threads and use
// one, at an index that is no constant. A dimension in which every access is at the same constant
// is removed, too: with a single row the thread's number becomes a constant.
//
//   alloc m: [N] local window [i0*4] size [4]            alloc m: [1] local
//   for y threadIdx.y { block m: m[i0*4 + y] = .. }  -->  for y threadIdx.y { block m: m[0] = .. }
//   for y threadIdx.y { .. m[i0*4 + y] .. }               for y threadIdx.y { .. m[0] .. }
//
// A dimension of which each thread has a part, as of a tile that is spread over the lanes of a
// warp, shrinks to that part: every access is at r * (step * count) + y * step + rest, y being the
// thread's number of `count`, and rest less than step. Cell r * step + rest remains.
//
//   alloc m: [N] local window [i0*16] size [16]              alloc m: [2] local
//   for r { for y in 0..8 threadIdx.y {                 -->   for r { for y threadIdx.y {
//     block m: m[i0*16 + r*8 + y] = .. } }                      block m: m[r] = .. } }
//
// Each loop has its own variable even if loops share an axis, so this pass is what identifies the
// same thread in several nests. `stmt` is kScheduled; sizes may be free.
Stmt PrivatizeBuffers(const Stmt& stmt);

// Returns the axes for which a buffer has such a dimension: the threads along them may write it in
// loops inside its lifetime.
std::vector<ForKind> PrivatizedAxes(const Allocate& allocate);

}  // namespace tcc
