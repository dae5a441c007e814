#include "codegen_cuda/cubin/occupancy.h"

#include <algorithm>
#include <iterator>

#include "support/target.h"

namespace tcc {
namespace {

// The limits of one multiprocessor (CUDA programming guide, "technical specifications per compute
// capability"). The driver reserves `reserved_bytes` of shared memory per block for itself.
struct Row {
  int sm;
  int64_t warps;
  int64_t blocks;
  int64_t shared_bytes;
  int64_t reserved_bytes;
};
constexpr int64_t kKiB = 1024;
constexpr Row kRows[] = {
    {75, 32, 16, 64 * kKiB, 0},     {80, 64, 32, 164 * kKiB, kKiB}, {86, 48, 16, 100 * kKiB, kKiB},
    {89, 48, 24, 100 * kKiB, kKiB}, {90, 64, 32, 228 * kKiB, kKiB},
};

// Returns the row of a device; one newer than the table gets the last row.
const Row& RowOf(int sm) {
  const Row* row =
      std::find_if(std::begin(kRows), std::end(kRows), [&](const Row& r) { return r.sm >= sm; });
  return row == std::end(kRows) ? *std::prev(std::end(kRows)) : *row;
}

int64_t MultiprocessorsOf(int sm) {
  int64_t count = 0;
  for (const Target& target : AllTargets()) {
    if (target.kind != TargetKind::kCuda) continue;
    count = target.multiprocessors;
    if (target.sm >= sm) break;
  }
  return count;
}

int64_t RoundedUp(int64_t value, int64_t multiple) {
  return (value + multiple - 1) / multiple * multiple;
}

// The units of allocation: registers are allocated per warp, 256 at a time; shared memory, 128
// bytes at a time.
constexpr int64_t kRegisterUnit = 256;
constexpr int64_t kSharedUnit = 128;

}  // namespace

int64_t BlocksPerMultiprocessor(const BlockResources& block, int sm) {
  const Row& row = RowOf(sm);
  int64_t warps = (block.threads + Target::kWarp - 1) / Target::kWarp;
  int64_t warp_registers = RoundedUp(block.registers * Target::kWarp, kRegisterUnit);
  int64_t shared = RoundedUp(block.shared_bytes + row.reserved_bytes, kSharedUnit);
  int64_t blocks = std::min(row.blocks, row.warps / std::max<int64_t>(warps, 1));
  if (warp_registers > 0) {
    blocks = std::min(blocks, Target::kRegisterFile / warp_registers / std::max<int64_t>(warps, 1));
  }
  if (shared > 0) blocks = std::min(blocks, row.shared_bytes / shared);
  return blocks;
}

double WavesOf(int64_t blocks, const BlockResources& block, int sm) {
  int64_t at_once = BlocksPerMultiprocessor(block, sm) * MultiprocessorsOf(sm);
  return at_once == 0 ? 0 : static_cast<double>(blocks) / static_cast<double>(at_once);
}

}  // namespace tcc
