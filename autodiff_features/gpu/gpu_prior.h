#pragma once

#include <cstdint>
#include <span>

#include "autodiff_features/counts/run_settings.h"
#include "autodiff_features/gpu/gpu_work.h"
#include "support/multiprocessor.h"

namespace tcc {

// The rates of one kind of NVIDIA GPU (reference: gpu_perf, section 1, for clock, memory and L2
// sizes; rates of L2 are leads that no device has confirmed; latencies are guesses). Rates per
// cycle are those of one multiprocessor; instructions are those of a warp.
struct GpuProfile {
  int64_t multiprocessors = 72;
  double hertz = 1.71e9;
  double issued_per_cycle = 4;
  double fma_per_cycle = 4;        // 2 where a warp's multiply-add takes two cycles
  double special_per_cycle = 0.5;  // exponentials, reciprocals, roots: 16 lanes
  double mma_per_cycle = 512;      // multiply-adds of 16-bit operands on tensor cores
  double passes_per_cycle = 1;     // of 128 bytes of shared memory or L1
  double l2_bytes = 6e6;
  double l2_rate = 1.8e12;     // bytes per second
  double l2_port = 64;         // bytes per cycle that one multiprocessor can take
  double memory_rate = 600e9;  // bytes per second

  // Cycles that a warp waits.
  double memory_latency = 500;  // for data from L2 or memory
  double shared_latency = 28;   // for a load from shared memory
  double barrier_cycles = 30;
  double exchange_cycles = 160;  // for a sum over the threads of a row by shuffles

  // Instructions of 16 bytes that an instruction cache of 32 KiB holds, and the cycles that each
  // further one takes from a farther cache, 32 per line of 8. Both are guesses.
  double cached_instructions = 2048;
  double fetch_cycles = 4;

  double launch_seconds = 2e-6;
  double usable = 0.8;      // share of L2 that data may take and stay
  double read_again = 0.5;  // share of what each further wave of blocks fetches anew beyond L2
  double spill = 2;         // slowdown at twice as many values as registers
  double overlap = 3;       // p: times t_i that overlap take (sum of t_i^p)^(1/p) in all

  MultiprocessorLimits limits = MultiprocessorLimitsOf(86);
};

// Returns the rates of the typical device of a CUDA target.
GpuProfile GpuProfileOf(const Target& target);

// The seconds of a launch on a GPU: the bound by each resource alone, and all together.
struct LaunchPrior {
  Expr issue;    // of instructions
  Expr passes;   // of shared memory and L1
  Expr l2;       // of bytes that come from L2 or go there
  Expr memory;   // of bytes that come from memory or go there
  Expr latency;  // of one block after the other, each as fast as a warp alone
  Expr seconds;
  Expr resident;   // blocks that a multiprocessor runs at a time
  Expr fma_share;  // multiply-adds among all instructions
  Expr code;       // instructions of the machine code
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
LaunchPrior PriorOf(const LaunchWork& launch, const GpuProfile& gpu, const RunSettings& settings);

// Returns ln seconds of a kernel.
Expr LnSecondsOf(std::span<const LaunchPrior> launches);

}  // namespace tcc
