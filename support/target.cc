#include "support/target.h"

#include <fmt/ranges.h>
#include <unistd.h>

#include <utility>
#include <vector>

#include "support/device_profile.h"
#include "support/word_tile.h"

namespace tcc {
namespace {

// Returns whether the CPU that runs tcc has vpdpbusd for vectors of NativeVectorBytes().
bool NativeDotsBytes() {
#if defined(__x86_64__)
  __builtin_cpu_init();
  return __builtin_cpu_supports("avxvnni") ||
         (__builtin_cpu_supports("avx512vnni") && __builtin_cpu_supports("avx512vl"));
#else
  return false;
#endif
}

// Returns whether the CPU that runs tcc has vpopcntd for vectors of NativeVectorBytes().
bool NativeCountsBits() {
#if defined(__x86_64__)
  __builtin_cpu_init();
  return __builtin_cpu_supports("avx512vpopcntdq") && __builtin_cpu_supports("avx512vl");
#else
  return false;
#endif
}

// Returns Target::bf16_speedup of the CPU that runs tcc. Zen 4 and 5 do vdpbf16ps as often as FMA;
// Intel's cores, whose unit for bf16 is AMX, every other cycle on one of two ports.
double NativeBf16Speedup() {
#if defined(__x86_64__)
  __builtin_cpu_init();
  if (!__builtin_cpu_supports("avx512bf16") || !__builtin_cpu_supports("avx512vl")) return 0;
  return __builtin_cpu_is("amd") ? 2 : 0.5;
#else
  return 0;
#endif
}

// Returns the bytes of the widest vectors of the CPU that runs tcc.
int NativeVectorBytes() {
#if defined(__x86_64__)
  __builtin_cpu_init();
  if (__builtin_cpu_supports("avx512f")) return 64;
  if (__builtin_cpu_supports("avx2")) return 32;
#endif
  return 16;
}

// Returns the cache size that the system reports; `fallback` where it reports none (in some
// containers).
int64_t CacheBytes(int name, int64_t fallback) {
  long bytes = sysconf(name);  // NOLINT(google-runtime-int): its type
  return bytes > 0 ? bytes : fallback;
}

// x86-64 psABI, "Micro-Architecture Levels": level 3, then what level 4 adds.
constexpr std::string_view kLevels[] = {
    "sse3", "ssse3", "sse4.1", "sse4.2", "popcnt",  "avx",      "avx2",     "bmi",      "bmi2",
    "f16c", "fma",   "lzcnt",  "movbe",  "avx512f", "avx512bw", "avx512cd", "avx512dq", "avx512vl"};
constexpr size_t kLevel3 = 13;  // the number of features of level 3

// Arm Architecture Reference Manual, extensions of Armv8.1, 8.2 and 8.6. SIMD and the conversions
// of f16 are in every CPU.
constexpr std::string_view kArmFeatures[] = {"lse",  "rdm",  "dotprod", "fullfp16",
                                             "i8mm", "bf16", "sve"};
constexpr size_t kArm82 = 4;  // the number of features before Armv8.6
constexpr size_t kArm86 = 6;  // before SVE

constexpr int64_t kKiB = 1024;

Target Gpu(std::string name, int sm) {
  const GpuProfile& gpu = GpuProfileOf(sm);
  return {.name = std::move(name),
          .kind = TargetKind::kGpu,
          .sm = sm,
          .shared_bytes = gpu.shared_bytes - gpu.reserved_bytes,
          .multiprocessors = gpu.multiprocessors,
          .limits = kCudaLimits};
}

// Returns the CPU that runs tcc, perhaps with an accelerator.
Target OnHost(std::string name, Accelerator accelerator) {
  const int vector_bytes = NativeVectorBytes();
  return {.name = std::move(name),
          .kind = TargetKind::kCpu,
          .arch = kHostArch,
          .llvm_cpu = "",
          .vector_bytes = vector_bytes,
          .vector_registers = vector_bytes == 64 || kHostArch == CpuArch::kArm64 ? 32 : 16,
          .dots_bytes = NativeDotsBytes(),
          .counts_bits = NativeCountsBits(),
          .bf16_speedup = NativeBf16Speedup(),
          .cheap_masks = vector_bytes == 64,
          .multiplies_by_lane = kHostArch == CpuArch::kArm64,
          .amx = RequestAmx(),
          .l1_bytes = CacheBytes(_SC_LEVEL1_DCACHE_SIZE, 32 * kKiB),
          .l2_bytes = CacheBytes(_SC_LEVEL2_CACHE_SIZE, 512 * kKiB),
          .accelerator = accelerator};
}

// Returns a GPU that OpenCL drives, by the least that its drivers report. Its registers are a
// guess: drivers do not tell.
Target OpenClGpu(std::string name, int64_t shared_bytes) {
  Target target = {.name = std::move(name),
                   .kind = TargetKind::kGpu,
                   .api = GpuApi::kOpenCl,
                   .shared_bytes = shared_bytes,
                   .limits = {.max_threads = 256,
                              .max_threads_in_z = 256,
                              .max_blocks = kCudaLimits.max_blocks,
                              .registers = 255,
                              .register_file = 65536,
                              .default_shared_bytes = shared_bytes,
                              .max_shared_bytes = shared_bytes}};
  target.multiprocessors = GpuProfileOf(target).multiprocessors;
  return target;
}

// Returns the Rockchip RK3399's GPU, of ARM's Midgard.
Target MaliT860() {
  Target target = OpenClGpu("opencl-mali-t860", 32 * kKiB);
  target.shared_is_memory = true;
  return target;
}

const std::vector<Target>& Table() {
  static const auto* table = new std::vector<Target>{
      OnHost("native", Accelerator::kNone),
      OnHost("vdla", Accelerator::kVdla),
      {.name = "x86-64-v3",
       .kind = TargetKind::kCpu,
       .llvm_cpu = "x86-64-v3",
       .needed_features = std::span(kLevels).first(kLevel3),
       .vector_bytes = 32,
       .vector_registers = 16,
       .l1_bytes = 32 * kKiB,
       .l2_bytes = 256 * kKiB},
      {.name = "x86-64-v4",
       .kind = TargetKind::kCpu,
       .llvm_cpu = "x86-64-v4",
       .needed_features = kLevels,
       .vector_bytes = 64,
       .vector_registers = 32,
       .cheap_masks = true,
       .l1_bytes = 32 * kKiB,
       .l2_bytes = 1024 * kKiB},
      // Cortex-A55 and A76, Neoverse N1.
      {.name = "aarch64-v8.2",
       .kind = TargetKind::kCpu,
       .arch = CpuArch::kArm64,
       .llvm_cpu = "generic",
       .needed_features = std::span(kArmFeatures).first(kArm82),
       .vector_bytes = 16,
       .vector_registers = 32,
       .dots_signed_bytes = true,
       .multiplies_by_lane = true,
       .l1_bytes = 32 * kKiB,
       .l2_bytes = 256 * kKiB},
      // Neoverse N2 and V2, Apple's cores from M2 on.
      {.name = "aarch64-v8.6",
       .kind = TargetKind::kCpu,
       .arch = CpuArch::kArm64,
       .llvm_cpu = "generic",
       .needed_features = std::span(kArmFeatures).first(kArm86),
       .vector_bytes = 16,
       .vector_registers = 32,
       .dots_bytes = true,
       .dots_signed_bytes = true,
       .bf16_speedup = 2,  // Arm Neoverse N2 Software Optimization Guide: as often as FMLA
       .multiplies_by_lane = true,
       .l1_bytes = 64 * kKiB,
       .l2_bytes = 512 * kKiB},
      // Every CPU with SVE: vectors of 16 bytes, whose tails are predicated.
      {.name = "aarch64-sve",
       .kind = TargetKind::kCpu,
       .arch = CpuArch::kArm64,
       .llvm_cpu = "generic",
       .needed_features = kArmFeatures,
       .vector_bytes = 16,
       .vector_registers = 32,
       .sve_bytes = {16, 256},
       .dots_bytes = true,
       .dots_signed_bytes = true,
       .bf16_speedup = 2,
       .cheap_masks = true,
       .multiplies_by_lane = true,
       .l1_bytes = 64 * kKiB,
       .l2_bytes = 512 * kKiB},
      // Neoverse V1.
      {.name = "aarch64-sve256",
       .kind = TargetKind::kCpu,
       .arch = CpuArch::kArm64,
       .llvm_cpu = "generic",
       .needed_features = kArmFeatures,
       .vector_bytes = 32,
       .vector_registers = 32,
       .sve_bytes = {32, 32},
       .dots_bytes = true,
       .dots_signed_bytes = true,
       .bf16_speedup = 2,
       .cheap_masks = true,
       .l1_bytes = 64 * kKiB,
       .l2_bytes = 1024 * kKiB},
      {.name = "reference", .kind = TargetKind::kReference},
      Gpu("sm_75", 75),
      Gpu("sm_80", 80),
      Gpu("sm_86", 86),
      Gpu("sm_89", 89),
      Gpu("sm_90a", 90),
      // Any GPU of the last ten years.
      OpenClGpu("opencl", 32 * kKiB),
      MaliT860(),
      // AMD Radeon Instinct MI50.
      OpenClGpu("opencl-mi50", 64 * kKiB),
  };
  return *table;
}

}  // namespace

std::span<const Target> AllTargets() {
  return Table();
}

StatusOr<Target> FindTarget(std::string_view name) {
  std::vector<std::string> known;
  for (const Target& target : Table()) {
    if (target.name == name) return target;
    known.push_back(target.name);
  }
  return UsageError("unknown target '{}'; expected one of {}", name, fmt::join(known, ", "));
}

}  // namespace tcc
