#pragma once

#include "ir/expr/function.h"

namespace tcc {

// Returns the same function with names derived from positions, so that a schedule of one network's
// function replays on an equal function of another network. FunctionKey does not change.
//
//   the function           kernel; attributes are dropped, except NoteWarps's
//   parameters             p0, p1, ...
//   allocated buffers      t0, t1, ... in textual order
//   blocks                 b0, b1, ... in textual order; "b0.init" where the old name was another
//                          block's with ".init"
//   iteration variables    i0, i1, ... in each block, and its loops after them: "b0/i1"
//   free variables         s0, s1, ...
//   lets                   l0, l1, ... in textual order
//
// Combiners keep their names, which come from types alone. Idempotent. Expects kTensor.
Function WithCanonicalNames(const Function& fn);

}  // namespace tcc
