#pragma once

#include "ir/expr/function.h"
#include "support/status.h"

namespace tcc {

// What only the finished schedule of a GPU has to keep, since loops are bound before buffers are
// placed: the nests at the root are launches that share global memory alone, a thread block has its
// own shared memory and a thread its own local memory.
//
// Error, naming the buffer: one that is neither global nor constant and lives round the nests; a
// shared buffer that lives round a blockIdx loop; a local one whose cells a threadIdx loop inside
// its lifetime writes, so that each thread would have only its own; a warp's inside a threadIdx.x
// loop, or where there are not just as many threads along x as a warp has lanes; a global one that
// lives inside a launch, or that two blocks of a launch share, one of them writing, which are not
// under the same blockIdx loops. A parallel loop round shared memory is named itself. Functions
// without hardware indices are always whole.
Status ExpectWholeLaunches(const Function& fn);

}  // namespace tcc
