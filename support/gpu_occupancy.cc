#include "support/gpu_occupancy.h"

#include <algorithm>

#include "support/integer_division.h"
#include "support/target.h"

namespace tcc {

int64_t BlocksPerMultiprocessor(const BlockResources& block, const GpuSizes& gpu) {
  int64_t warps = CeilDivision(block.threads, Target::kWarp);
  int64_t warp_registers = RoundUp(block.registers * Target::kWarp, kRegisterUnit);
  int64_t shared = RoundUp(block.shared_bytes + gpu.reserved_bytes, kSharedUnit);
  int64_t blocks = std::min(gpu.blocks, gpu.warps / std::max<int64_t>(warps, 1));
  if (warp_registers > 0) {
    blocks =
        std::min(blocks, kCudaLimits.register_file / warp_registers / std::max<int64_t>(warps, 1));
  }
  if (shared > 0) blocks = std::min(blocks, gpu.shared_bytes / shared);
  return blocks;
}

}  // namespace tcc
