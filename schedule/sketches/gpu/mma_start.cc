#include "schedule/sketches/gpu/mma_start.h"

#include <algorithm>
#include <iterator>
#include <optional>
#include <span>

#include "schedule/sketches/gpu/gpu_thresholds.h"
#include "schedule/sketches/gpu/tile_time.h"
#include "schedule/sketches/parts/block_pattern.h"
#include "schedule/sketches/parts/default_tiles.h"
#include "support/device_profile.h"
#include "support/integer_division.h"

namespace tcc {
namespace {

// The candidates, largest first; the smallest loads as much as it computes, but keeps more of a GPU
// busy.
constexpr MmaLevels kLevels[] = {
    {2, 4, 4, 4}, {2, 2, 4, 4}, {2, 2, 2, 4}, {2, 2, 1, 4}, {2, 2, 1, 2}, {1, 2, 1, 2},
};
constexpr MmaLevels kSmall = kLevels[std::size(kLevels) - 2];

// The same for groups of four warps; more rows than columns are as good, but lower.
constexpr MmaLevels kGroupLevels[] = {
    {8, 1, 1, 32}, {16, 1, 1, 16}, {8, 1, 1, 16}, {4, 1, 1, 32},
    {4, 1, 1, 16}, {8, 1, 1, 8},   {4, 1, 1, 8},  {4, 1, 1, 4},
};

// The candidates, best first: a longer step has fewer barriers, more stages hide more latency, and
// the number of four is masked, not divided by. Without asynchronous copies the next step is in
// registers.
struct Steps {
  int64_t bytes, stages;
};
constexpr Steps kAsyncSteps[] = {
    {kMmaStepBytes, 4},     {kMmaStepBytes, 3},     {kMmaStepBytes / 2, 4}, {kMmaStepBytes / 2, 3},
    {kMmaStepBytes / 2, 2}, {kMmaStepBytes / 4, 4}, {kMmaStepBytes / 4, 3}, {kMmaStepBytes / 4, 2},
};
constexpr Steps kPlainSteps[] = {{kMmaStepBytes / 2, 2}, {kMmaStepBytes / 4, 2}};

// The extents of a product's result and of its reduction.
struct Extents {
  int64_t rows, columns, others = 1;
  int64_t k_bytes, other_terms = 1;

  int64_t Blocks(const MmaLevels& levels) const {
    return CeilDivision(rows, levels.rows()) * CeilDivision(columns, levels.columns()) * others;
  }
  // Returns the bytes along k with the padding of such steps, dealt to such parts.
  int64_t Padded(int64_t step, int64_t parts) const { return RoundUp(k_bytes, step * parts); }
  // Returns the fewest parts, `parts` at least, that share the steps along k evenly: other axes of
  // the reduction would repeat the padding. 0: there are none.
  int64_t EvenParts(int64_t parts) const {
    if (other_terms == 1) return parts;
    int64_t steps = CeilDivision(k_bytes, kMmaStepBytes / 2);
    while (parts <= steps && steps % parts != 0) ++parts;
    return parts <= steps ? parts : 0;
  }
  // Returns the number of such steps in a part.
  int64_t StepsOf(int64_t step, int64_t parts) const {
    return CeilDivision(k_bytes, step * parts) * other_terms;
  }
};

Extents ExtentsOf(const Block& block, const MmaProduct& product) {
  Extents extents{.rows = ExtentOf(block, product.m),
                  .columns = ExtentOf(block, product.n),
                  .k_bytes = ExtentOf(block, product.k) * product.a.bytes};
  for (size_t i : ItersOf(block, IterKind::kSpatial)) {
    if (i != product.m && i != product.n) extents.others *= ExtentOf(block, i);
  }
  for (size_t i : ItersOf(block, IterKind::kReduce)) {
    if (i != product.k) extents.other_terms *= ExtentOf(block, i);
  }
  return extents;
}

// Returns the largest tile that occurs often enough, with at most `most` parts of the reduction,
// and is not mostly padding; nullopt if there is none.
std::optional<MmaStart> StartWithParts(const Extents& extents, int64_t most, const Target& target) {
  for (const MmaLevels& levels : kLevels) {
    int64_t blocks = extents.Blocks(levels);
    int64_t padded = blocks / extents.others * levels.rows() * levels.columns();
    int64_t parts = extents.EvenParts(CeilDivision(target.multiprocessors, blocks));
    bool fits = 2 * padded <= 3 * extents.rows * extents.columns;
    if (parts > 0 && parts <= most && fits) return MmaStart{levels, parts};
  }
  return std::nullopt;
}

// Returns the cells in shared memory for `extent` rows or columns, per element along k.
int64_t StagedCells(const MmaOperand& operand, int64_t extent) {
  return operand.by_words() ? RoundUp(extent - kMmaWordsApart, kBanks) + kMmaWordsApart : extent;
}

// Turns tiles of 64 x 32 a warp into 32 x 64 where A alone is rounded in the loop: each of its
// words is, then, by half as many warps.
MmaLevels WithFewRoundings(MmaLevels levels, const MmaProduct& product) {
  bool rounds_a = product.a.type == kFloat32 && product.b.type != kFloat32;
  if (!rounds_a || levels.m_tiles < 4) return levels;
  return {2 * levels.m_warps, levels.n_warps / 2, levels.m_tiles / 2, 2 * levels.n_tiles};
}

// Sets the first candidate whose padding costs little and that lets a multiprocessor hold two
// blocks, if the grid has them: one computes where the other one waits.
MmaStart WithSteps(MmaStart start, const Extents& extents, const MmaProduct& product,
                   const Target& target) {
  start.levels = WithFewRoundings(start.levels, product);
  const GpuProfile& gpu = GpuProfileOf(target.sm);
  int64_t blocks = extents.Blocks(start.levels) * start.parts;
  // Two blocks have no room for the results of the largest tiles either.
  int64_t most =
      2 * start.levels.rows() * start.levels.columns() >= kCudaLimits.register_file ? 1 : 2;
  int64_t together = std::clamp<int64_t>(CeilDivision(blocks, gpu.multiprocessors), 1, most);
  int64_t shared = std::min(target.shared_bytes, gpu.shared_bytes / together - gpu.reserved_bytes);
  int64_t cells =
      StagedCells(product.a, start.levels.rows()) + StagedCells(product.b, start.levels.columns());
  int64_t least = std::min(kMmaStepBytes / 2, RoundUp(extents.k_bytes, kMmaStepBytes / 4));
  least = extents.Padded(least, start.parts);
  auto stages = [&](const Steps& steps) {
    return std::clamp<int64_t>(extents.StepsOf(steps.bytes, start.parts), 2, steps.stages);
  };
  auto fits = [&](const Steps& steps) {
    return 16 * extents.Padded(steps.bytes, start.parts) <= 17 * least &&
           cells * steps.bytes * stages(steps) <= shared;
  };
  bool async = target.sm >= kAsyncCopies;
  std::span<const Steps> all = async ? std::span<const Steps>(kAsyncSteps) : kPlainSteps;
  auto found = std::ranges::find_if(all, fits);
  const Steps& steps = found == all.end() ? all.back() : *found;
  start.step_bytes = steps.bytes;
  start.stages = stages(steps);
  return start;
}

// Returns the most parts of whole length.
int64_t MostParts(const Extents& extents) {
  int64_t steps = extents.k_bytes / kMmaStepBytes * extents.other_terms;
  int64_t most = std::min(steps / kMinMmaPartSteps, kMaxMmaParts);
  while (most >= 2 && extents.EvenParts(most) != most) --most;
  return most;
}

std::vector<MmaStart> StartsOfWarps(const Extents& extents, const Target& target) {
  std::vector<MmaStart> starts;
  int64_t most = MostParts(extents);
  std::optional<MmaStart> whole = StartWithParts(extents, 1, target);
  if (most >= 2 && !whole) {
    starts.push_back(StartWithParts(extents, most, target).value_or(MmaStart{kSmall, most}));
  }
  starts.push_back(whole.value_or(MmaStart{kSmall}));
  return starts;
}

// Returns the seconds that a group's product is expected to take: the busiest multiprocessor
// computes all of its blocks at the rate of tensor cores, or of the copies of their operands, and
// begins those that are resident at a time together.
double SecondsOfGroups(const MmaStart& start, const Extents& extents, const GpuProfile& gpu) {
  int64_t rows = start.levels.rows(), columns = start.levels.columns();
  int64_t blocks = extents.Blocks(start.levels) * start.parts;
  int64_t shared = kAsyncSteps[0].stages * (rows + columns) * kMmaStepBytes;
  int64_t resident = std::max<int64_t>(gpu.shared_bytes / (shared + gpu.reserved_bytes), 1);
  int64_t of_each = CeilDivision(blocks, gpu.multiprocessors);
  auto turns = static_cast<double>(CeilDivision(of_each, resident));
  auto steps = static_cast<double>(extents.StepsOf(kMmaStepBytes, start.parts));
  // Operands of 16 bits; the rate of bytes is twice as high.
  auto multiply_adds = static_cast<double>(rows * columns * kMmaStepBytes / 2);
  double compute = multiply_adds / (gpu.group_speed * gpu.mma_per_cycle);
  auto sharing = static_cast<double>(std::min(blocks, gpu.multiprocessors));
  double port = std::min(gpu.l2_port, gpu.l2_rate / gpu.hertz / sharing);
  double copy = static_cast<double>((rows + columns) * kMmaStepBytes) / port;
  double step = std::max(compute, copy) + std::min(compute, copy) / 4 + gpu.barrier_cycles;
  double cycles = static_cast<double>(of_each) * steps * step + turns * kTileStartCycles;
  return cycles / gpu.hertz +
         SecondsOfParts(start.parts, extents.rows * extents.columns * extents.others, gpu);
}

std::vector<MmaStart> StartsOfGroups(const Extents& extents, const Target& target) {
  const GpuProfile& gpu = GpuProfileOf(target.sm);
  auto best = [&](int64_t least, int64_t most) {
    std::optional<MmaStart> found;
    for (const MmaLevels& levels : kGroupLevels) {
      for (int64_t parts = least; parts <= most; ++parts) {
        if (extents.EvenParts(parts) != parts) continue;
        MmaStart start{levels, parts};
        bool better =
            !found || SecondsOfGroups(start, extents, gpu) < SecondsOfGroups(*found, extents, gpu);
        if (better) found = start;
      }
    }
    return found;
  };
  std::vector<MmaStart> starts = {best(1, 1).value()};
  std::optional<MmaStart> parts = best(2, MostParts(extents));
  if (!parts) return starts;
  bool faster = SecondsOfGroups(*parts, extents, gpu) < SecondsOfGroups(starts[0], extents, gpu);
  starts.insert(faster ? starts.begin() : starts.end(), *parts);
  return starts;
}

}  // namespace

std::vector<MmaStart> MmaStarts(const Block& block, const MmaProduct& product,
                                const Target& target) {
  Extents extents = ExtentsOf(block, product);
  std::vector<MmaStart> starts = product.mma->by == MmaBy::kGroup ? StartsOfGroups(extents, target)
                                                                  : StartsOfWarps(extents, target);
  for (MmaStart& start : starts) start = WithSteps(start, extents, product, target);
  return starts;
}

}  // namespace tcc
