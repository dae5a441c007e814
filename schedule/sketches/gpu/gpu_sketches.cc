#include <algorithm>

#include "ir/analysis/accesses.h"
#include "ir/expr/visitor.h"
#include "schedule/analysis/reduction_nest.h"
#include "schedule/sketches/gpu/gpu_parts.h"
#include "schedule/sketches/gpu/gpu_rules.h"
#include "schedule/sketches/gpu/gpu_thresholds.h"
#include "schedule/sketches/parts/block_pattern.h"
#include "schedule/sketches/parts/default_tiles.h"
#include "schedule/sketches/parts/operand_panels.h"
#include "schedule/sketches/parts/sketch_parts.h"
#include "schedule/steps/compute_at.h"
#include "schedule/steps/decompose_reduction.h"
#include "schedule/steps/fuse.h"
#include "schedule/steps/loop_kind.h"
#include "schedule/steps/prepack.h"
#include "schedule/steps/split.h"

// Sketch rules for CUDA targets. Each nest at the function's root is one launch; every one gets its
// blocks and threads here.
namespace tcc {
namespace {

// One launch for loops of a block without a reduction: vectors along the last axis, everything else
// over threads and blocks.
//
//   for a, b  -->  for (a*b.0).0 @blockIdx.x  for (a*b.0).1 @threadIdx.x  for b.1 vectorized
void BindMap(SketchState& state, const Block& block, const Target& target) {
  std::vector<size_t> axes = ItersOf(block, IterKind::kSpatial);
  if (axes.empty()) return;
  std::vector<LoopRef> loops = KeysOf(block, axes);
  int64_t last = ExtentOf(block, axes.back());
  Expr vector = state.Size(LevelKey(loops.back(), 1), std::min<int64_t>(last, 4),
                           {DomainKind::kChoice, {1, 2, 4}}, CopyLanes(last));
  LoopRef lanes = LevelKey(loops.back(), 1);
  state.Do(Split{loops.back(), {vector}});
  loops.back() = LevelKey(loops.back(), 0);
  state.Do(Vectorize{lanes});
  SpreadOverThreads(state, loops, target);
}

bool CanBeTiled(const Block& block) {
  return IsReduction(block) && WritesPlainly(block) && (HasReuse(block) || HasWindow(block)) &&
         !ItersOf(block, IterKind::kSpatial).empty() && !ItersOf(block, IterKind::kReduce).empty();
}

// Returns whether neighbours along the last axis share no operand of a window, as in a depthwise
// convolution. Threads read them side by side, and L1 holds what windows share along other axes.
bool IsDepthwise(const Block& block) {
  const Var& last = block.iters[ItersOf(block, IterKind::kSpatial).back()].var;
  return HasWindow(block) && std::ranges::all_of(ReadsOf(block), [&](const Access& read) {
           return std::ranges::any_of(read.indices,
                                      [&](const Expr& index) { return UsesVar(index, last); });
         });
}

// A thread for each result of a reduction, which it computes in a register.
std::optional<SketchState> ReduceInThreads(const SketchState& state, const Block& block,
                                           const Target& target) {
  if (!IsReduction(block) || !WritesPlainly(block)) return std::nullopt;
  std::vector<size_t> spatial = ItersOf(block, IterKind::kSpatial);
  std::vector<size_t> reduce = ItersOf(block, IterKind::kReduce);
  SketchState next = state;
  if (spatial.empty() || reduce.empty() ||
      SpatialLoopsOutside(next, block).size() != spatial.size()) {
    return std::nullopt;
  }
  ResultReader reader = KeepResultLocal(next, block);
  LoopRef thread = SpreadOverThreads(next, KeysOf(block, spatial), target);
  LoopRef reduced = KeysOf(block, reduce).front();
  bool legal = next.Try(DecomposeReduction{block.name, reduced}) &&
               next.Try(ReverseComputeAt{reader.block, thread});
  if (!legal) return std::nullopt;
  for (const LoopRef& one : reader.loops) next.Do(Unroll{one});
  int64_t taps = 1;
  for (size_t axis : reduce) taps *= ExtentOf(block, axis);
  if (HasWindow(block) && taps <= kMaxUnrolledWindow) {
    for (const LoopRef& loop : KeysOf(block, reduce)) next.Do(Unroll{loop});
  }
  return next;
}

std::vector<SketchState> TileRule(const SketchState& state, const Block& block,
                                  const Target& target) {
  if (!CanBeTiled(block)) return {};
  std::vector<SketchState> forks;
  // Neighbours share few cells of a pool's window, and L1 holds those.
  if (!HasReuse(block)) {
    if (auto threads = ReduceInThreads(state, block, target)) forks.push_back(*std::move(threads));
  }
  for (SketchState& tiled : TileForTensorCores(state, block, target)) {
    forks.push_back(std::move(tiled));
  }
  for (SketchState& tiled : TileForThreads(state, block, target)) {
    forks.push_back(std::move(tiled));
  }
  if (HasReuse(block) && IsDepthwise(block)) {
    if (auto threads = ReduceInThreads(state, block, target)) forks.push_back(*std::move(threads));
  }
  return forks;
}

std::vector<SketchState> MapRule(const SketchState& state, const Block& block,
                                 const Target& target) {
  if (!ItersOf(block, IterKind::kReduce).empty()) return {};
  std::vector<SketchState> ways;
  if (auto tiled = TileTransposingForThreads(state, block)) ways.push_back(*std::move(tiled));
  SketchState next = state;
  BindMap(next, block, target);
  ways.push_back(std::move(next));
  return ways;
}

std::vector<SketchState> AttentionRule(const SketchState& state, const Block& block,
                                       const Target& target) {
  std::vector<SketchState> ways;
  if (auto mma = ScheduleMmaAttention(state, block, target)) ways.push_back(*std::move(mma));
  if (auto tiled = ScheduleTiledAttention(state, block, target)) {
    ways.push_back(*std::move(tiled));
  }
  return ways;
}

std::vector<SketchState> FewRowsRule(const SketchState& state, const Block& block,
                                     const Target& target) {
  std::optional<SketchState> next = ScheduleFewRows(state, block, target);
  return next ? std::vector<SketchState>{*std::move(next)} : std::vector<SketchState>();
}

// Constants in a narrower type are made when the model is linked: a launch would make them anew in
// every run.
std::vector<SketchState> NarrowConstantRule(const SketchState& state, const Block& block,
                                            const Target&) {
  std::vector<Access> writes = WritesOf(block);
  if (!ItersOf(block, IterKind::kReduce).empty() || writes.size() != 1) return {};
  int bits = writes[0].buffer.dtype().bits();
  for (const Access& read : ReadsOf(block)) {
    if (read.buffer.dtype().bits() <= bits) return {};
  }
  std::optional<Prepack> step = PrepackOfStage(state.fn(), block);
  if (!step) return {};
  SketchState next = state;
  next.Do(*step);
  return {next};
}

// Returns whether a window reads vectors along the last axis of a map whose own reads are none:
// merged taps.
bool GathersVectors(const Function& fn, const Block& map, const Block& reader) {
  const IterVar& last = map.iters.back();
  if (!HasWindow(reader) || CopyLanes(ExtentOf(map, map.iters.size() - 1)) < 4) return false;
  std::vector<Access> reads = ReadsOf(map);
  bool gathers = std::ranges::any_of(
      reads, [&](const Access& read) { return !IsContiguousAlong(fn, read, last.var); });
  PreOrderExprs(map.body, [&](const Expr& expr) {
    const auto* select = expr.as<Select>();
    gathers = gathers || (select && UsesVar(select->condition, last.var));
  });
  return gathers;
}

// A map that makes an operand of one contraction is done where tiles of the operand are staged, or
// on its own. The latter comes first where staging would gather the cells of vectors one by one.
std::vector<SketchState> OperandRule(const SketchState& state, const Block& block,
                                     const Target& target) {
  std::vector<Access> writes = WritesOf(block);
  if (writes.size() != 1 || OnlyMapInto(state.fn(), writes[0].buffer) != &block) return {};
  const Block* reader = OnlyReaderOf(state.fn(), writes[0].buffer);
  if (!reader || state.IsDone(reader->name) || !CanBeTiled(*reader)) return {};
  std::vector<SketchState> forks = TileRule(state, *reader, target);
  auto leaves_map = [&](const SketchState& fork) { return !fork.IsDone(block.name); };
  if (!forks.empty() && leaves_map(forks.front())) return {};
  std::erase_if(forks, leaves_map);
  for (SketchState& fork : forks) fork.MarkDone(reader->name);
  std::vector<SketchState> alone = MapRule(state, block, target);
  const bool first = GathersVectors(state.fn(), block, *reader);
  forks.insert(first ? forks.begin() : forks.end(), alone.begin(), alone.end());
  return forks;
}

// Whether another block reads a result.
bool IsRead(const Function& fn, const Block& block) {
  for (const Ref<Block>& other : BlocksOf(fn.body)) {
    if (other->name == block.name) continue;
    for (const Access& write : WritesOf(block)) {
      if (Reads(*other, write.buffer)) return true;
    }
  }
  return false;
}

std::vector<SketchState> RowRule(const SketchState& state, const Block& block,
                                 const Target& target) {
  std::vector<SketchState> ways = ScheduleThreadRows(state, block, target);
  // Two launches are worth it where the results are all that is wanted.
  bool alone = EpilogueOf(state.fn(), block) || !IsRead(state.fn(), block);
  std::optional<SketchState> parts = alone ? ScheduleLongRows(state, block, target) : std::nullopt;
  if (parts) ways.insert(ways.begin(), *std::move(parts));
  return ways;
}

// A thread block a result, whose threads reduce strided parts (ir/analysis/cross_thread.h).
//
//   blockIdx(s...) { t.0 { threadIdx(t.1) { result += ... } } }
std::vector<SketchState> CrossThreadRule(const SketchState& state, const Block& block,
                                         const Target& target) {
  std::vector<size_t> spatial = ItersOf(block, IterKind::kSpatial);
  std::vector<size_t> reduce = ItersOf(block, IterKind::kReduce);
  bool fits = IsReduction(block) && !CanBeTiled(block) && !spatial.empty() && !reduce.empty() &&
              ExtentOf(block, reduce.back()) >= target.ThreadMultiple();
  if (!fits) return {};
  SketchState next = state;
  LoopRef loop = BaseKey(block.name, block.iters[reduce.back()]);
  int64_t most = std::min(ExtentOf(block, reduce.back()), target.limits.max_threads);
  Domain multiples{DomainKind::kMultiples, {target.ThreadMultiple()}};
  Expr threads = next.Size(LevelKey(loop, 1), most, multiples, 128);
  LoopRef blocks = KeysOf(block, {spatial[0]})[0];
  for (size_t i = 1; i < spatial.size(); ++i) {
    LoopRef inner = KeysOf(block, {spatial[i]})[0];
    if (!next.Try(Fuse{blocks, inner})) return {};
    blocks = FusedKey(blocks, inner);
  }
  bool legal = next.Try(Bind{blocks, ForKind::kBlockIdxX}) && next.Try(Split{loop, {threads}}) &&
               next.Try(Bind{LevelKey(loop, 1), ForKind::kThreadIdxX});
  return legal ? std::vector<SketchState>{next} : std::vector<SketchState>();
}

// The spatial axes over threads, whatever is left inside each of them in its order.
std::vector<SketchState> ThreadRule(const SketchState& state, const Block& block,
                                    const Target& target) {
  if (auto reduction = ReduceInThreads(state, block, target)) return {*std::move(reduction)};
  SketchState next = state;
  std::vector<LoopRef> loops = SpatialLoopsOutside(next, block);
  if (loops.empty()) return {next};
  SpreadOverThreads(next, loops, target);
  return {next};
}

constexpr SketchRule kRules[] = {
    // name, rule, what it fits
    {"attention", AttentionRule, "cores of attention, with what makes their logits"},
    {"narrow_constant", NarrowConstantRule, "maps of constants to a narrower type"},
    {"few_rows", FewRowsRule, "products of few rows, with a map that makes an operand"},
    {"operand", OperandRule, "maps that make an operand of one tile"},
    {"tile", TileRule, "contractions and windows"},
    {"row_reduction", RowRule, "softmax, norms, reductions along which memory is contiguous"},
    {"cross_thread", CrossThreadRule, "other long reductions whose operands are read once"},
    {"map", MapRule, "blocks without a reduction"},
    {"thread", ThreadRule, "everything: a thread for each result"},
};

}  // namespace

std::span<const SketchRule> GpuSketchRules() {
  return kRules;
}

}  // namespace tcc
