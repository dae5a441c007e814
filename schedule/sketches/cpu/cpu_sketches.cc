#include <algorithm>

#include "ir/analysis/accesses.h"
#include "ir/expr/visitor.h"
#include "schedule/analysis/reduction_nest.h"
#include "schedule/sketches/cpu/column_reduction.h"
#include "schedule/sketches/cpu/cpu_parts.h"
#include "schedule/sketches/cpu/cpu_rules.h"
#include "schedule/sketches/parts/attention_parts.h"
#include "schedule/sketches/parts/block_pattern.h"
#include "schedule/sketches/parts/cpu_thresholds.h"
#include "schedule/sketches/parts/default_tiles.h"
#include "schedule/sketches/parts/row_reduction.h"
#include "schedule/sketches/parts/sketch_parts.h"
#include "schedule/steps/loop_kind.h"
#include "schedule/steps/split.h"
#include "support/storage_types.h"
#include "support/word_tile.h"

// Sketch rules for CPUs: vectors along the last axis, register tiles, outer loops in parallel.
namespace tcc {
namespace {

bool CanBeTiled(const Block& block) {
  return IsReduction(block) && WritesPlainly(block) &&
         !ItersOf(block, IterKind::kSpatial).empty() && !ItersOf(block, IterKind::kReduce).empty();
}

std::vector<SketchState> TileRule(const SketchState& state, const Block& block,
                                  const Target& target) {
  if (!CanBeTiled(block)) return {};
  return TileForRegisters(state, block, target);
}

// A product and the windows that slide over its result, together; or each by tiles of its own.
std::vector<SketchState> ChainRule(const SketchState& state, const Block& block,
                                   const Target& target) {
  if (!CanBeTiled(block) || HasWindow(block)) return {};
  const Block* epilogue = EpilogueOf(state.fn(), block);
  const Var image = WritesOf(epilogue ? *epilogue : block)[0].buffer;
  const Block* reader = OnlyReaderOf(state.fn(), image);
  if (!reader || state.IsDone(reader->name) || !CanBeTiled(*reader)) return {};
  std::optional<SketchState> chain = TileChain(state, block, *reader, target);
  if (!chain) return {};
  std::vector<SketchState> forks = TileForRegisters(state, block, target);
  forks.insert(forks.begin(), *std::move(chain));
  return forks;
}

std::vector<SketchState> MatrixRule(const SketchState& state, const Block& block,
                                    const Target& target) {
  if (WordTileOf(target) == 0 || !CanBeTiled(block)) return {};
  return TileForMatrices(state, block, target);
}

// The core of attention, with what makes its logits.
std::vector<SketchState> AttentionRule(const SketchState& state, const Block& block,
                                       const Target& target) {
  for (const Ref<Block>& core : BlocksOf(state.fn().body)) {
    if (!IsAttentionCore(*core) || state.IsDone(core->name)) continue;
    std::optional<SketchState> next = ScheduleAttention(state, *core, target);
    if (next && next->IsDone(block.name)) return {*std::move(next)};
  }
  return {};
}

// Reductions along contiguous memory, with the blocks after them, row by row; products with a
// vector also by tiles.
std::vector<SketchState> RowsRule(const SketchState& state, const Block& block,
                                  const Target& target) {
  if (!IsRowReduction(state.fn(), block)) return {};
  std::optional<SketchState> rows = ScheduleRows(state, block, target);
  if (!rows) return {};
  std::vector<SketchState> forks = {*std::move(rows)};
  if (HasReuse(block) && CanBeTiled(block)) {
    forks.push_back(TileForRegisters(state, block, target).front());
  }
  return forks;
}

// Few and long reductions, in parts or as the other rules have them.
std::vector<SketchState> PartsRule(const SketchState& state, const Block& block,
                                   const Target& target) {
  std::optional<SketchState> parts = ScheduleReductionParts(state, block, target);
  if (!parts) return {};
  std::vector<SketchState> forks = RowsRule(state, block, target);
  if (forks.empty()) forks = TileRule(state, block, target);
  forks.insert(forks.begin(), *std::move(parts));
  return forks;
}

// Reductions to tuples, along memory that is contiguous along an axis of the results.
std::vector<SketchState> ColumnsRule(const SketchState& state, const Block& block,
                                     const Target& target) {
  std::optional<SketchState> columns = ScheduleColumns(state, block, target);
  return columns ? std::vector<SketchState>{*std::move(columns)} : std::vector<SketchState>{};
}

// Whether neighbours along the last variable are no neighbours in what the block reads.
bool Gathers(const Function& fn, const Block& block) {
  std::vector<Access> reads = ReadsOf(block);
  return std::ranges::any_of(reads, [&](const Access& read) {
    return !IsContiguousAlong(fn, read, block.iters.back().var);
  });
}

// Outer loops in parallel, vectors along the last.
std::vector<SketchState> MapRule(const SketchState& state, const Block& block,
                                 const Target& target) {
  if (!ItersOf(block, IterKind::kReduce).empty()) return {};
  SketchState next = Prepacked(state, block);
  if (block.iters.empty()) return {next};
  std::vector<LoopRef> loops = KeysOf(block, ItersOf(block, IterKind::kSpatial));
  LoopRef last = loops.back();
  int64_t extent = ExtentOf(block, block.iters.size() - 1);
  std::vector<SketchState> forks;
  if (auto tiled = TileTransposing(next, block, target)) forks.push_back(*std::move(tiled));
  if (extent < kMinGatheredLanes && loops.size() > 1 && Gathers(state.fn(), block)) {
    next.Do(Unroll{last});
    loops.pop_back();
    RunInParallel(next, block, loops);
    return {next};
  }
  int64_t widest = 2 * target.FloatLanes();
  Expr lanes = LanesOf(next, LevelKey(last, 1), extent, widest, MapLanes(extent, target));
  next.Do(Split{last, {lanes}});
  next.Do(Vectorize{LevelKey(last, 1)});
  loops.back() = LevelKey(last, 0);
  RunInParallel(next, block, loops);
  forks.push_back(std::move(next));
  return forks;
}

// A map that makes what one window slides over is done on its own, or row by row in front of it.
std::vector<SketchState> SlidingRule(const SketchState& state, const Block& block,
                                     const Target& target) {
  std::vector<Access> writes = WritesOf(block);
  if (writes.size() != 1 || OnlyMapInto(state.fn(), writes[0].buffer) != &block) return {};
  const Block* reader = OnlyReaderOf(state.fn(), writes[0].buffer);
  if (!reader || state.IsDone(reader->name) || !CanBeTiled(*reader)) return {};
  std::optional<SketchState> rolling = TileOverRollingRows(state, block, *reader, target);
  if (!rolling) return {};
  rolling->MarkDone(reader->name);
  std::vector<SketchState> forks = MapRule(state, block, target);
  bool is_far = WorkOf(block) * WholeBytes(writes[0].buffer.dtype()) > kFarL2s * target.l2_bytes;
  forks.insert(is_far ? forks.begin() : forks.end(), *std::move(rolling));
  return forks;
}

// Winograd's convolution, from the transform of its input to that of its output.
std::vector<SketchState> TransformedRule(const SketchState& state, const Block& block,
                                         const Target& target) {
  std::optional<SketchState> next = ScheduleTransformedProduct(state, block, target);
  return next ? std::vector<SketchState>{*std::move(next)} : std::vector<SketchState>{};
}

// Right for any reduction and any ordered block.
std::vector<SketchState> OuterRule(const SketchState& state, const Block& block,
                                   const Target& target) {
  return {ScheduleColumnPanels(Prepacked(state, block), block, target)};
}

constexpr SketchRule kRules[] = {
    // name, rule, what it fits
    {"attention", AttentionRule, "cores of attention, their scores and logits"},
    {"parts", PartsRule, "few reductions that are long"},
    {"chain", ChainRule, "products in front of windows over their results"},
    {"matrix", MatrixRule, "sums of dots of words in whole tiles, where the CPU multiplies those"},
    {"rows", RowsRule, "reductions along contiguous memory"},
    {"tile", TileRule, "reductions into one buffer"},
    {"columns", ColumnsRule, "reductions into several buffers, along their last axis"},
    {"transformed", TransformedRule, "products between transforms of tiles"},
    {"sliding", SlidingRule, "maps that make what one window slides over"},
    {"map", MapRule, "blocks without a reduction"},
    {"outer", OuterRule, "everything: a panel of columns at a time through the reduction"},
};

}  // namespace

std::span<const SketchRule> CpuSketchRules() {
  return kRules;
}

}  // namespace tcc
