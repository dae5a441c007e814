#include "schedule/sketches/gpu/tile_time.h"

#include <algorithm>
#include <cmath>

#include "schedule/sketches/gpu/gpu_thresholds.h"
#include "support/gpu_occupancy.h"
#include "support/integer_division.h"
#include "support/target.h"

namespace tcc {

double SecondsOf(const TileWork& work, const GpuProfile& gpu) {
  const auto multiply_adds = static_cast<double>(work.multiply_adds);
  const auto steps = static_cast<double>(work.steps);
  const double others = kTileLoadSlots * work.loads + kTileCopySlots * work.copies + kTileStepSlots;
  const int64_t blocks = CeilDivision(work.blocks, gpu.multiprocessors);
  const int64_t resident = BlocksPerMultiprocessor(
      {.threads = work.threads, .registers = work.registers, .shared_bytes = work.shared_bytes},
      gpu);
  const int64_t turns = CeilDivision(blocks, std::max<int64_t>(resident, 1));
  const double warp_steps =
      static_cast<double>(blocks * CeilDivision(work.threads, Target::kWarp)) * steps;

  const double issue = warp_steps * std::max((multiply_adds + others) / gpu.issued_per_cycle,
                                             multiply_adds / gpu.fma_per_cycle);
  const double shared = warp_steps * work.load_cycles / gpu.passes_per_cycle;
  const double step_alone = kTileFmaCycles * multiply_adds + kTileOtherCycles * others;
  const double alone = static_cast<double>(turns) * (steps * step_alone + kTileStartCycles);
  const double l2 = static_cast<double>(work.blocks) * steps * work.copied_bytes / gpu.l2_rate;
  const double cycles = issue * issue + shared * shared + alone * alone;
  return std::sqrt(cycles / (gpu.hertz * gpu.hertz) + l2 * l2);
}

double SecondsOfParts(int64_t parts, int64_t results, const GpuProfile& gpu) {
  if (parts <= 1) return 0;
  // They are written and read, in L2 if they fit.
  const double bytes = sizeof(float) * static_cast<double>(parts * results);
  const bool fit = bytes <= gpu.usable * gpu.l2_bytes;
  const double rate = fit ? kPartsPercentOfL2 / 100.0 * gpu.l2_rate : gpu.memory_rate;
  return gpu.launch_seconds + 2 * bytes / rate;
}

}  // namespace tcc
