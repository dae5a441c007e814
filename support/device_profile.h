#pragma once

#include <cstdint>
#include <string_view>
#include <variant>
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

// Returns the start values with the caches of a CPU target, and with the rates of the core that an
// ARM target stands for (core_rates.h).
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

// The whole numbers of one kind of NVIDIA GPU. The limits hold for a multiprocessor (CUDA
// programming guide, "technical specifications per compute capability"). The driver reserves
// `reserved_bytes` of shared memory per block for itself.
struct GpuSizes {
  int sm = 0;
  // How the name of such a device begins, as the driver has it. Rows of OpenCL: the target.
  std::string_view device;
  int64_t multiprocessors = 0;
  int64_t warps = 0;
  int64_t blocks = 0;
  int64_t shared_bytes = 0;
  int64_t reserved_bytes = 0;
  // How many times as long the prior must expect the first start of a kernel to take than another
  // one, which then becomes the default; 0: the prior was never held against measurements.
  double start_margin = 0;
};

// The constants of a GPU: name, start value, whether a fit may change it, meaning. Those that start
// at 0 have a value for each device. Rates per cycle are those of one multiprocessor, instructions
// are those of a warp, and cycles are what a warp waits. Sizes of caches stay: a step in a formula
// has no slope. Sources: gpu_perf (reference), sections 1 and 2, for issued_per_cycle,
// special_per_cycle and passes_per_cycle; group_speed is 790 TFLOP/s, which others sustained on an
// H100, to an H200's fitted mma_per_cycle; the instruction cache has 32 KiB, and instructions have
// 16 bytes; what a fit may change is the mean of a fit to 2,265 measurements of an H100 and of one
// to 2,904 of an H200, which differ by 5 % at most.
#define TCC_GPU_CONSTANTS(X)                                                                   \
  X(hertz, 0, true, "cycles per second")                                                       \
  X(fma_per_cycle, 0, false, "multiply-adds: 2 where one of a warp takes two cycles")          \
  X(mma_per_cycle, 0, false, "multiply-adds of 16-bit operands on tensor cores")               \
  X(l2_bytes, 0, false, "")                                                                    \
  X(l2_rate, 0, true, "bytes per second from L2")                                              \
  X(memory_rate, 0, true, "bytes per second from memory")                                      \
  X(launch_seconds, 0, true, "what a launch adds to its kernel")                               \
  X(group_speed, 1.35, false, "times that rate: products of four warps together (wgmma)")      \
  X(issued_per_cycle, 4, false, "instructions that begin")                                     \
  X(special_per_cycle, 0.5, true, "exponentials, reciprocals, roots")                          \
  X(passes_per_cycle, 1, false, "of 128 bytes, by shared memory or L1")                        \
  X(l2_port, 69, true, "bytes per cycle from L2 to one multiprocessor")                        \
  X(memory_latency, 454, true, "cycles for data from L2 or memory")                            \
  X(loads_together, 4.8, true,                                                                 \
    "loads of a loop, or copies without a pipeline, waited for at once")                       \
  X(shared_latency, 33, true, "cycles for a load from shared memory")                          \
  X(barrier_cycles, 31, true, "")                                                              \
  X(exchange_cycles, 158, true, "for a sum over the threads of a row by shuffles")             \
  X(cached_instructions, 2048, false, "that an instruction cache holds")                       \
  X(fetch_cycles, 4.5, true, "for each further instruction, which comes from a farther cache") \
  X(step_instructions, 12, true, "of a step: a barrier, the wait for a copy, addresses")       \
  X(code_versions, 2.6, true, "instructions of the machine code for each that is counted")     \
  X(usable, 0.8, false, "share of L2 that data may take and stay")                             \
  X(read_again, 0.5, true, "share of what a further wave of blocks fetches anew beyond L2")    \
  X(spill, 2, true, "slowdown at twice as many values as registers")                           \
  X(overlap, 1.73, true, "p: times t_i that overlap take (sum of t_i^p)^(1/p) in all")

// The constants of one kind of NVIDIA GPU.
struct GpuProfile : GpuSizes {
#define TCC_GPU_CONSTANT(name, start, fitted, meaning) double name = start;
  TCC_GPU_CONSTANTS(TCC_GPU_CONSTANT)
#undef TCC_GPU_CONSTANT
};

// Returns the constants of the typical device of an architecture. An architecture newer than the
// table counts as the newest.
const GpuProfile& GpuProfileOf(int sm);
// Returns the constants of a GPU target's typical device.
const GpuProfile& GpuProfileOf(const Target& target);

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

// The constants of a CPU or of a GPU.
using DeviceProfile = std::variant<CpuProfile, GpuProfile>;

// Returns the start values with the caches of a CPU target, or the constants of the typical device
// of a GPU target's architecture.
DeviceProfile DeviceProfileOf(const Target& target);

inline bool IsOfGpu(const DeviceProfile& profile) {
  return std::holds_alternative<GpuProfile>(profile);
}

// A constant of a profile.
struct DeviceConstant {
  std::string_view name;
  std::string_view meaning;
  bool fitted = true;  // false: a fit lets it stay
  double* value = nullptr;
};
// Returns the profile's constants in the order of the table. They point into `profile`.
std::vector<DeviceConstant> ConstantsIn(DeviceProfile& profile);

}  // namespace tcc
