#include <algorithm>

#include "schedule/block_pattern.h"
#include "schedule/default_tiles.h"
#include "schedule/gpu_attention.h"
#include "schedule/gpu_tile.h"
#include "schedule/reduction_nest.h"
#include "schedule/sketch_parts.h"
#include "schedule/sketch_rules.h"

// Sketch rules for CUDA targets. Each nest at the function's root is one launch; every one gets its
// blocks and threads here.
namespace tcc {
namespace {

// One launch for loops of a block without a reduction: vectors along the last axis, everything else
// over threads and blocks.
//
//   for a, b  -->  for (a*b.0).0 @blockIdx.x  for (a*b.0).1 @threadIdx.x  for b.1 vectorized
void BindMap(SketchState& state, const Block& block) {
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
  LoopRef fused = FuseAll(state, loops);
  Expr threads =
      state.Size(LevelKey(fused, 1), Target::kMaxThreads, {DomainKind::kMultiples, {32}}, 128);
  state.Do(Split{fused, {threads}});
  state.Do(Bind{LevelKey(fused, 0), ForKind::kBlockIdxX});
  state.Do(Bind{LevelKey(fused, 1), ForKind::kThreadIdxX});
}

bool CanBeTiled(const Block& block) {
  return IsReduction(block) && WritesPlainly(block) && (HasReuse(block) || HasWindow(block)) &&
         !ItersOf(block, IterKind::kSpatial).empty() && !ItersOf(block, IterKind::kReduce).empty();
}

std::vector<SketchState> TileRule(const SketchState& state, const Block& block,
                                  const Target& target) {
  if (!CanBeTiled(block)) return {};
  std::vector<SketchState> forks;
  if (IsWorthSplitting(block, target)) forks.push_back(TilePartsForThreads(state, block, target));
  forks.push_back(TileForThreads(state, block, target));
  return forks;
}

std::vector<SketchState> MapRule(const SketchState& state, const Block& block, const Target&) {
  if (!ItersOf(block, IterKind::kReduce).empty()) return {};
  SketchState next = state;
  BindMap(next, block);
  return {next};
}

std::vector<SketchState> AttentionRule(const SketchState& state, const Block& block,
                                       const Target&) {
  std::optional<SketchState> next = ScheduleThreadAttention(state, block);
  return next ? std::vector<SketchState>{*std::move(next)} : std::vector<SketchState>();
}

// A map that makes an operand of one contraction is done where tiles of the operand are staged, or
// on its own.
std::vector<SketchState> OperandRule(const SketchState& state, const Block& block,
                                     const Target& target) {
  std::vector<Access> writes = WritesOf(block);
  if (writes.size() != 1 || OnlyMapInto(state.fn(), writes[0].buffer) != &block) return {};
  const Block* reader = OnlyReaderOf(state.fn(), writes[0].buffer);
  if (!reader || state.IsDone(reader->name) || !CanBeTiled(*reader)) return {};
  std::vector<SketchState> forks = TileRule(state, *reader, target);
  for (SketchState& fork : forks) {
    if (!fork.IsDone(block.name)) return {};
    fork.MarkDone(reader->name);
  }
  for (SketchState& alone : MapRule(state, block, target)) forks.push_back(std::move(alone));
  return forks;
}

// A thread block a result, whose threads reduce strided parts; one of them combines what they have
// in shared memory.
//
//   blockIdx(s...) { threadIdx(t.1) { t.0: partial += ... }  t.1: result += partial }
std::vector<SketchState> CrossThreadRule(const SketchState& state, const Block& block,
                                         const Target&) {
  constexpr int64_t kWarp = 32;
  std::vector<size_t> spatial = ItersOf(block, IterKind::kSpatial);
  std::vector<size_t> reduce = ItersOf(block, IterKind::kReduce);
  bool fits = IsReduction(block) && WritesPlainly(block) && !CanBeTiled(block) &&
              !spatial.empty() && !reduce.empty() && ExtentOf(block, reduce.back()) >= kWarp;
  if (!fits) return {};
  SketchState next = state;
  LoopRef loop = BaseKey(block.name, block.iters[reduce.back()]);
  std::string thread = LevelKey(loop, 1).substr(block.name.size());
  int64_t most = std::min(ExtentOf(block, reduce.back()), Target::kMaxThreads);
  Expr threads = next.Size(LevelKey(loop, 1), most, {DomainKind::kMultiples, {kWarp}}, 128);
  std::string partial = block.name + ".partial";
  next.Do(Bind{FuseAll(next, KeysOf(block, spatial)), ForKind::kBlockIdxX});
  next.Do(Split{loop, {threads}});
  next.Do(RFactor{block.name, block.name + thread, 0, Scope::kShared, partial});
  next.Do(Bind{partial + thread, ForKind::kThreadIdxX});
  next.Do(Bind{partial + ".init" + thread, ForKind::kThreadIdxX});
  for (const std::string& made : {partial, partial + ".init", block.name + ".init"}) {
    next.MarkDone(made);
  }
  return {next};
}

// The spatial axes over threads, whatever is left inside each of them in its order.
std::vector<SketchState> ThreadRule(const SketchState& state, const Block& block, const Target&) {
  SketchState next = state;
  std::vector<LoopRef> loops;
  for (const IterVar& iter : block.iters) {
    // Values of an axis that some outputs lack repeat what a thread does.
    if (iter.kind != IterKind::kSpatial || IsUnshared(block, iter)) break;
    loops.push_back(BaseKey(block.name, iter));
  }
  if (loops.empty()) return {next};
  LoopRef fused = FuseAll(next, loops);
  Expr threads =
      next.Size(LevelKey(fused, 1), Target::kMaxThreads, {DomainKind::kMultiples, {32}}, 128);
  next.Do(Split{fused, {threads}});
  next.Do(Bind{LevelKey(fused, 0), ForKind::kBlockIdxX});
  next.Do(Bind{LevelKey(fused, 1), ForKind::kThreadIdxX});
  return {next};
}

constexpr SketchRule kRules[] = {
    // name, rule, what it fits
    {"attention", AttentionRule, "cores of attention, with what makes their logits"},
    {"operand", OperandRule, "maps that make an operand of one tile"},
    {"tile", TileRule, "contractions and windows"},
    {"cross_thread", CrossThreadRule, "long reductions whose operands are read once"},
    {"map", MapRule, "blocks without a reduction"},
    {"thread", ThreadRule, "everything: a thread for each result"},
};

}  // namespace

std::span<const SketchRule> GpuSketchRules() {
  return kRules;
}

}  // namespace tcc
