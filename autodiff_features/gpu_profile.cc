#include "autodiff_features/gpu_profile.h"

#include <algorithm>
#include <iterator>

namespace tcc {
namespace {

struct GpuRow {
  int sm;
  double hertz;
  double fma_per_cycle;
  double mma_per_cycle;
  double l2_bytes;
  double l2_rate;
  double memory_rate;
};

// T4, A100, A10, RTX 4090, H200: the devices of Target::multiprocessors.
constexpr GpuRow kRows[] = {
    {75, 1.59e9, 2, 512, 4e6, 1.27e12, 320e9},   {80, 1.41e9, 2, 1024, 40e6, 4.5e12, 2039e9},
    {86, 1.71e9, 4, 512, 6e6, 1.8e12, 600e9},    {89, 2.52e9, 4, 256, 72e6, 5e12, 1008e9},
    {90, 1.83e9, 4, 1024, 50e6, 5.5e12, 4300e9},
};

}  // namespace

GpuProfile GpuProfileOf(const Target& target) {
  const GpuRow* row = std::find_if(std::begin(kRows), std::end(kRows),
                                   [&](const GpuRow& r) { return r.sm >= target.sm; });
  if (row == std::end(kRows)) row = std::prev(std::end(kRows));
  GpuProfile profile;
  profile.multiprocessors = std::max<int64_t>(target.multiprocessors, 1);
  profile.hertz = row->hertz;
  profile.fma_per_cycle = row->fma_per_cycle;
  profile.mma_per_cycle = row->mma_per_cycle;
  profile.l2_bytes = row->l2_bytes;
  profile.l2_rate = row->l2_rate;
  profile.memory_rate = row->memory_rate;
  profile.limits = MultiprocessorLimitsOf(target.sm);
  return profile;
}

}  // namespace tcc
