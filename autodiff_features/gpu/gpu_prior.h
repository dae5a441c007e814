#pragma once

#include <span>

#include "autodiff_features/counts/run_settings.h"
#include "autodiff_features/gpu/gpu_profile.h"
#include "autodiff_features/gpu/gpu_work.h"

namespace tcc {

// The seconds of a launch on a GPU: the bound by each resource alone, and all together.
struct LaunchPrior {
  Expr issue;    // of instructions
  Expr passes;   // of shared memory and L1
  Expr l2;       // of bytes that come from L2 or go there
  Expr memory;   // of bytes that come from memory or go there
  Expr latency;  // of one block after the other, each as fast as a warp alone
  Expr seconds;
  Expr rounds;
  Expr waves;      // of the blocks that are resident at a time
  Expr resident;   // blocks that a multiprocessor runs at a time
  Expr fma_share;  // multiply-adds among all instructions
  Expr code;       // instructions of the machine code
  // The counts of a block, over all its warps. Spills add no instructions here; mma counts what is
  // as fast as a warp's multiply-adds: a group's are divided by group_speed.
  Expr instructions, multiply_adds, special, mma, block_passes, sectors;
};

// Returns one bound per resource:
//   rounds  = ceildiv(blocks, multiprocessors), the blocks of the busiest multiprocessor
//   issue   = rounds * max(instructions / issued_per_cycle, multiply-adds / fma_per_cycle,
//             special / special_per_cycle, mma / mma_per_cycle) / hertz
//   passes  = rounds * passes / passes_per_cycle / hertz
//   l2      = blocks * 32 * sectors / min(l2_rate, min(blocks, multiprocessors) * l2_port * hertz)
//   memory  = different bytes, and some anew in each wave if they are more than L2, by memory_rate
//   latency = (ceildiv(blocks, multiprocessors * resident) * cycles of a warp alone
//             + cycles until all code was fetched once) / hertz
//   seconds = (issue^p + passes^p + l2^p + memory^p + latency^p)^(1/p) + launch_seconds
LaunchPrior PriorOf(const LaunchWork& launch, const GpuConstants& gpu, const RunSettings& settings);

// Returns ln seconds of a kernel.
Expr LnSecondsOf(std::span<const LaunchPrior> launches);

}  // namespace tcc
