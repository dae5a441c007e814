#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "support/target.h"

// The rates, latencies, caches and units of transfer that a device reaches. The instructions that
// code for it may use, and the limits on them, are its Target's.
namespace tcc {

// The size of a cache line of a CPU, the unit that moves between caches.
inline constexpr int64_t kCacheLineBytes = 64;

// The constants of a CPU: name, start value, meaning, source. The sources are sections of
// reference: cpu_perf, which measured a Zen 5; guesses are good until they are fitted. Rates are
// per core except the `all` ones, cycles are per vector.
#define TCC_CPU_CONSTANTS(X)                                                            \
  X(hertz, 3.9e9, "cycles per second", "1.1")                                           \
  X(fma_per_cycle, 2, "multiply-adds that begin per cycle", "1.1")                      \
  X(loads_per_cycle, 2, "", "1.1")                                                      \
  X(stores_per_cycle, 1, "", "1.3")                                                     \
  X(ops_per_cycle, 8, "operations of any kind that begin per cycle", "guess")           \
  X(fma_latency, 4, "cycles from a multiply-add to one that needs its result", "1.1")   \
  X(in_flight, 320, "operations that a core looks ahead", "guess")                      \
  X(divide_cycles, 2.4, "", "1.1")                                                      \
  X(root_cycles, 4.5, "", "1.1")                                                        \
  X(special_cycles, 6, "of an exponential", "5")                                        \
  X(gather_cycles, 1, "of an element that is moved alone", "guess")                     \
  X(prefetch_cycles, 0.7, "of asking for a line ahead of its use", "guess")             \
  X(enter_cycles, 5, "of starting an innermost loop", "guess")                          \
  X(dead_cycles, 2, "of skipping an iteration beyond an extent", "guess")               \
  X(spill, 0.5, "slowdown at twice as many values as registers", "guess")               \
  X(l1_bytes, 48e3, "", "1.3")                                                          \
  X(l2_bytes, 1e6, "", "1.3")                                                           \
  X(l3_bytes, 32e6, "", "1.3")                                                          \
  X(usable, 0.8, "share of a cache that a loop's data may take and stay", "guess")      \
  X(l2_rate, 218e9, "bytes per second from L2", "1.3")                                  \
  X(l3_rate, 115e9, "bytes per second from L3", "1.3")                                  \
  X(l3_all_rate, 120e9, "bytes per second from L3 to all cores together", "1.3")        \
  X(memory_rate, 44e9, "bytes per second from memory", "1.3")                           \
  X(memory_all_rate, 50e9, "bytes per second from memory to all cores together", "1.3") \
  X(fork_seconds, 0.4e-6, "of dealing a parallel loop to the threads", "1.3")           \
  X(call_seconds, 0.3e-6, "of calling a kernel", "guess")                               \
  X(overlap, 3.5, "p: times t_i that overlap take (sum of t_i^p)^(1/p) in all", "guess")

// The constants of one kind of CPU.
struct CpuProfile {
#define TCC_CPU_CONSTANT(name, start, meaning, source) double name = start;
  TCC_CPU_CONSTANTS(TCC_CPU_CONSTANT)
#undef TCC_CPU_CONSTANT
};

struct CpuConstantRow {
  std::string_view name;
  std::string_view meaning;
  double CpuProfile::* value;
};
// Returns a row for each constant, in the order of the table.
const std::vector<CpuConstantRow>& CpuConstantRows();

// Returns the start values with the caches of a CPU target.
CpuProfile ProfileOf(const Target& target);

// The units of NVIDIA GPUs (reference: gpu_perf, section 1).
inline constexpr int64_t kSectorBytes = 32;  // the unit that moves from L2
inline constexpr int64_t kBanks = 32;        // of shared memory
inline constexpr int64_t kBankBytes = 4;
// The bytes that shared memory serves at a time; a line of L1.
inline constexpr int64_t kPassBytes = kBanks * kBankBytes;
// The units of allocation: registers per warp, bytes of shared memory.
inline constexpr int64_t kRegisterUnit = 256;
inline constexpr int64_t kSharedUnit = 128;

// The constants of one kind of NVIDIA GPU. Rates per cycle are those of one multiprocessor;
// instructions are those of a warp.
struct GpuProfile {
  int sm = 0;
  std::string_view device;  // how the name of such a device begins, as the driver has it

  // The row of H200 was measured (bench/results/NVIDIA_H200/run.json, "calibration"). The others
  // have numbers of data sheets (reference: gpu_perf, section 1), and rates of L2 that no device
  // has confirmed.
  int64_t multiprocessors = 0;
  double hertz = 0;
  double fma_per_cycle = 0;  // 2 where a warp's multiply-add takes two cycles
  double mma_per_cycle = 0;  // multiply-adds of 16-bit operands on tensor cores
  double l2_bytes = 0;
  double l2_rate = 0;         // bytes per second
  double memory_rate = 0;     // bytes per second
  double launch_seconds = 0;  // what a launch adds to its kernel

  // The limits of a multiprocessor (CUDA programming guide, "technical specifications per compute
  // capability"). The driver reserves `reserved_bytes` of shared memory per block for itself.
  int64_t warps = 0;
  int64_t blocks = 0;
  int64_t shared_bytes = 0;
  int64_t reserved_bytes = 0;

  // Reference: gpu_perf, sections 1 and 2.
  double issued_per_cycle = 4;
  double special_per_cycle = 0.5;  // exponentials, reciprocals, roots: 16 lanes
  double passes_per_cycle = 1;     // of kPassBytes, by shared memory or L1
  double l2_port = 64;             // bytes per cycle that one multiprocessor can take; a guess

  // Cycles that a warp waits; guesses.
  double memory_latency = 500;  // for data from L2 or memory
  double shared_latency = 28;   // for a load from shared memory
  double barrier_cycles = 30;
  double exchange_cycles = 160;  // for a sum over the threads of a row by shuffles

  // Instructions of 16 bytes that an instruction cache of 32 KiB holds, and the cycles that each
  // further one takes from a farther cache, 32 per line of 8. Both are guesses.
  double cached_instructions = 2048;
  double fetch_cycles = 4;

  // Guesses.
  double usable = 0.8;      // share of L2 that data may take and stay
  double read_again = 0.5;  // share of what each further wave of blocks fetches anew beyond L2
  double spill = 2;         // slowdown at twice as many values as registers
  double overlap = 3;       // p: times t_i that overlap take (sum of t_i^p)^(1/p) in all
};

// Returns the constants of the typical device of an architecture. An architecture newer than the
// table counts as the newest.
const GpuProfile& GpuProfileOf(int sm);

// A GPU as its driver describes it.
struct GpuDescription {
  int sm = 0;
  std::string_view name;
  int64_t multiprocessors = 0;
  int64_t l2_bytes = 0;
};
// Returns the row of a device's name, else of its architecture's typical device, with the sizes of
// the description.
GpuProfile GpuProfileOf(const GpuDescription& gpu);

}  // namespace tcc
