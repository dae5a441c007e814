#include "support/device_profile.h"

#include <algorithm>
#include <iterator>

#include "support/core_rates.h"

namespace tcc {
namespace {

constexpr int64_t kKiB = 1024;

// The target whose core stands for ARM's others, too.
constexpr std::string_view kUsualArmTarget = "aarch64-v8.6";

// A step in a formula has no slope, so sizes of caches and their usable share stay.
bool IsFitted(const CpuConstantRow& row) {
  return row.value != &CpuProfile::l1_bytes && row.value != &CpuProfile::l2_bytes &&
         row.value != &CpuProfile::l3_bytes && row.value != &CpuProfile::usable;
}

// The first row of an architecture is its typical device, and a longer name comes before a shorter
// one that it begins with. H200 and H100 have the rate of memory and of tensor cores that they
// reached (bench/results, run.json, "calibration"); their clock, L2 rate and launch are what a fit
// found: kernels fall short of the clock by 9 %, and find a part of what is counted for L2 in L1.
// H100 PCIe and NVL have H100's multiprocessors, by the clock, and 85 % of a data sheet's memory
// rate, as H200. The others have numbers of data sheets (reference: gpu_perf, section 1), and rates
// of L2 that no device has confirmed.
//
// The margin: of 173 kernels that an H200 ran at all of their starts, those that a prior fitted on
// an H100 expects to be 1.1 times as fast as the first one take 0.97 of the time of those that were
// chosen before, and one takes longer, by 7 %; on the H100 itself 0.91, nine take longer.
constexpr double kMargin = 1.1;
// The rows of sm 0 are targets of OpenCL, the first any GPU that OpenCL drives: a guess between a
// phone's and a workstation's. They have no tensor cores, and the rate of theirs is that of
// multiply-adds. Rates of L2 and of launches are guesses in all of them.
//
// A Mali-T860 MP4 at a phone's clock: two pipes a core with four lanes each, 256 threads a core
// (ARM's Midgard guides); memory and caches are the RK3399's, shared memory is memory. The blocks
// of a core and its rates of instructions and loads are guesses.
// An MI50 (AMD's Vega ISA and Roller's table, reference: roller, section 4): 60 units of 64 lanes
// at 1.73 GHz, 40 waves of 64 and 64 KiB of shared memory each; Roller has 900 GB/s of memory.
constexpr GpuProfile kGpus[] = {
    // sm, device, multiprocessors, warps, blocks, shared memory, what of it is reserved per block,
    // the margin of starts;
    // clock, multiply-adds, on tensor cores, L2, its rate, memory's rate, launch; rows of sm 0
    // also group_speed, instructions issued, special ones, passes of shared memory or L1
    {{0, "opencl", 16, 32, 16, 64 * kKiB, 0}, 1.2e9, 2, 64, 1e6, 300e9, 100e9, 10e-6},
    {{0, "opencl-mali-t860", 4, 8, 8, 32 * kKiB, 0},
     0.65e9,
     0.25,
     8,
     256e3,
     20e9,
     10e9,
     50e-6,
     1,
     0.25,
     0.0625,
     0.125},
    {{0, "opencl-mi50", 60, 80, 40, 64 * kKiB, 0}, 1.73e9, 2, 64, 4e6, 1.7e12, 900e9, 10e-6},
    {{75, "Tesla T4", 40, 32, 16, 64 * kKiB, 0}, 1.59e9, 2, 512, 4e6, 1.27e12, 320e9, 2e-6},
    {{80, "NVIDIA A100", 108, 64, 32, 164 * kKiB, kKiB},
     1.41e9,
     2,
     1024,
     40e6,
     4.5e12,
     2039e9,
     2e-6},
    {{86, "NVIDIA A10", 72, 48, 16, 100 * kKiB, kKiB}, 1.71e9, 4, 512, 6e6, 1.8e12, 600e9, 2e-6},
    {{89, "NVIDIA GeForce RTX 4090", 128, 48, 24, 100 * kKiB, kKiB},
     2.52e9,
     4,
     256,
     72e6,
     5e12,
     1008e9,
     2e-6},
    {{90, "NVIDIA H200", 132, 64, 32, 228 * kKiB, kKiB, kMargin},
     1.74e9,
     4,
     1272,
     62.9e6,
     9.6e12,
     4070e9,
     0.77e-6},
    {{90, "NVIDIA H100 PCIe", 114, 64, 32, 228 * kKiB, kKiB, kMargin},
     1.57e9,
     4,
     1272,
     52.4e6,
     8.2e12,
     1700e9,
     0.94e-6},
    {{90, "NVIDIA H100 NVL", 132, 64, 32, 228 * kKiB, kKiB, kMargin},
     1.6e9,
     4,
     1272,
     62.9e6,
     8.4e12,
     3310e9,
     0.94e-6},
    {{90, "NVIDIA H100", 132, 64, 32, 228 * kKiB, kKiB, kMargin},
     1.77e9,
     4,
     1290,
     52.4e6,
     9.3e12,
     2980e9,
     0.94e-6},
};

}  // namespace

const std::vector<CpuConstantRow>& CpuConstantRows() {
  static const std::vector<CpuConstantRow>& rows = *new std::vector<CpuConstantRow>{
#define TCC_CPU_CONSTANT(name, start, meaning, source) {#name, meaning, &CpuProfile::name},
      TCC_CPU_CONSTANTS(TCC_CPU_CONSTANT)
#undef TCC_CPU_CONSTANT
  };
  return rows;
}

CpuProfile ProfileOf(const Target& target) {
  CpuProfile profile;
  const CoreRates* core = FindCore(target.name);
  if (!core && target.arch == CpuArch::kArm64) core = FindCore(kUsualArmTarget);
  if (core) {
    profile.hertz = core->hertz;
    profile.fma_per_cycle = core->vector;
    profile.loads_per_cycle = core->loads;
    profile.stores_per_cycle = core->stores;
    profile.ops_per_cycle = core->all;
  }
  if (target.l1_bytes > 0) profile.l1_bytes = static_cast<double>(target.l1_bytes);
  if (target.l2_bytes > 0) profile.l2_bytes = static_cast<double>(target.l2_bytes);
  return profile;
}

const GpuProfile& GpuProfileOf(int sm) {
  sm = std::min(sm, std::prev(std::end(kGpus))->sm);
  return *std::ranges::find_if(kGpus, [&](const GpuProfile& row) { return row.sm >= sm; });
}

const GpuProfile& GpuProfileOf(const Target& target) {
  if (target.api == GpuApi::kCuda) return GpuProfileOf(target.sm);
  return *std::ranges::find(kGpus, target.name, &GpuProfile::device);
}

GpuProfile GpuProfileOf(const GpuDescription& gpu) {
  const GpuProfile* row = std::ranges::find_if(kGpus, [&](const GpuProfile& row) {
    return row.sm == gpu.sm && gpu.name.starts_with(row.device);
  });
  GpuProfile profile = row == std::end(kGpus) ? GpuProfileOf(gpu.sm) : *row;
  if (gpu.multiprocessors > 0) profile.multiprocessors = gpu.multiprocessors;
  if (gpu.l2_bytes > 0) profile.l2_bytes = static_cast<double>(gpu.l2_bytes);
  return profile;
}

DeviceProfile DeviceProfileOf(const Target& target) {
  if (target.kind == TargetKind::kGpu) return GpuProfileOf(target);
  return ProfileOf(target);
}

std::vector<DeviceConstant> ConstantsIn(DeviceProfile& profile) {
  std::vector<DeviceConstant> constants;
  if (auto* gpu = std::get_if<GpuProfile>(&profile)) {
#define TCC_GPU_CONSTANT(name, start, fitted, meaning) \
  constants.push_back({#name, meaning, fitted, &gpu->name});
    TCC_GPU_CONSTANTS(TCC_GPU_CONSTANT)
#undef TCC_GPU_CONSTANT
    return constants;
  }
  for (const CpuConstantRow& row : CpuConstantRows()) {
    double& value = std::get<CpuProfile>(profile).*row.value;
    constants.push_back({row.name, row.meaning, IsFitted(row), &value});
  }
  return constants;
}

}  // namespace tcc
