#pragma once

#include <cstdint>

#include "support/multiprocessor.h"
#include "support/target.h"

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

}  // namespace tcc
