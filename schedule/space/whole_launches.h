#pragma once

#include "ir/expr/function.h"
#include "support/status.h"

namespace tcc {

// Checks rules that only the finished schedule of a GPU has to keep, since loops are bound before
// buffers are placed: the nests at the root are launches that share nothing but global memory, a
// thread block has its own shared memory, and a thread its own local memory.
//
// Error, naming the buffer:
//   - it lives round the nests and is neither global nor constant
//   - it is shared and lives round a blockIdx loop
//   - it is local and a threadIdx loop inside its lifetime writes it, so that each thread would
//     write only its own copy
//   - it is a warp's and lives inside a threadIdx.x loop, or the number of threads along x is not
//     the number of lanes of a warp
//   - it is global and lives inside a launch, or two blocks of a launch share it, one of them
//     writing, that are not under the same blockIdx loops; unless the launch goes on behind its
//     blocks along y (ir/expr/behind_blocks.h) and the buffer lives inside the loop along x
// For a parallel loop round shared memory the error names the loop. A function without hardware
// indices always passes.
Status ExpectWholeLaunches(const Function& fn);

}  // namespace tcc
