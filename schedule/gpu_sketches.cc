#include <algorithm>
#include <array>

#include "schedule/block_pattern.h"
#include "schedule/default_tiles.h"
#include "schedule/reduction_nest.h"
#include "schedule/sketch_parts.h"
#include "schedule/sketch_rules.h"

// Sketch rules for CUDA targets. Each nest at the function's root is one launch; every one gets its
// blocks and threads here.
namespace tcc {
namespace {

constexpr int64_t kMaxThreads = 1024;

// The extent of the loop as it stands.
Expr ExtentOfLoop(const SketchState& state, const LoopRef& loop) {
  return LoopAt(FindLoop(state.fn(), loop).value())->extent;
}

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
                           {DomainKind::kChoice, {1, 2, 4}}, last % 4 == 0 ? 4 : 1);
  LoopRef lanes = LevelKey(loops.back(), 1);
  state.Do(Split{loops.back(), {vector}});
  loops.back() = LevelKey(loops.back(), 0);
  state.Do(Vectorize{lanes});
  LoopRef fused = FuseAll(state, loops);
  Expr threads = state.Size(LevelKey(fused, 1), kMaxThreads, {DomainKind::kMultiples, {32}}, 128);
  state.Do(Split{fused, {threads}});
  state.Do(Bind{LevelKey(fused, 0), ForKind::kBlockIdxX});
  state.Do(Bind{LevelKey(fused, 1), ForKind::kThreadIdxX});
}

// Multi-level tiling of a contraction or window: blocks, threads, then what one thread does, with
// operands staged in shared memory and the results in registers.
//
//   blockIdx(s.0...) threadIdx(s.1...) { r.0... { stage operands  r.1... s.2... r.2... s.3... } }
class TiledContraction {
 public:
  TiledContraction(const SketchState& state, const Block& block)
      : state_(state),
        block_(block),
        spatial_(ItersOf(block, IterKind::kSpatial)),
        reduce_(ItersOf(block, IterKind::kReduce)) {}

  SketchState Build() && {
    reader_ = KeepResultLocal(state_, block_);
    SplitAxes();
    std::vector<LoopRef> order;
    for (const auto* level : {&s_[0], &s_[1], &r_[0], &r_[1], &s_[2], &r_[2], &s_[3]}) {
      order.insert(order.end(), level->begin(), level->end());
    }
    state_.Do(Reorder{order});
    state_.Do(Bind{FuseAll(state_, s_[0]), ForKind::kBlockIdxX});
    thread_loop_ = FuseAll(state_, s_[1]);
    threads_ = ExtentOfLoop(state_, thread_loop_);
    state_.Do(Bind{thread_loop_, ForKind::kThreadIdxX});
    state_.Do(ReverseComputeAt{reader_.block, thread_loop_});
    StageOperands();
    state_.Do(DecomposeReduction{block_.name, r_[0][0]});
    UnrollRegisters();
    return std::move(state_);
  }

 private:
  // The two largest axes from the right share the threads; one that is used up leaves its part.
  void SplitAxes() {
    std::vector<int64_t> threads(spatial_.size(), 1);
    std::vector<int64_t> inner(spatial_.size(), 1);
    int wide = 0;
    for (size_t s = spatial_.size(); s-- > 0 && wide < 2;) {
      int64_t extent = ExtentOf(block_, spatial_[s]);
      if (extent < 4) continue;
      threads[s] = std::min<int64_t>(extent, 16);
      inner[s] = std::clamp<int64_t>(extent / 16, 1, 4);
      ++wide;
    }
    for (size_t s = 0; s < spatial_.size(); ++s) SplitSpatial(spatial_[s], threads[s], inner[s]);
    for (size_t i : reduce_) SplitReduce(i);
  }

  void SplitSpatial(size_t iter, int64_t threads, int64_t inner) {
    LoopRef loop = BaseKey(block_.name, block_.iters[iter]);
    int64_t extent = ExtentOf(block_, iter);
    std::vector<Expr> factors = {
        state_.Size(LevelKey(loop, 1), std::min<int64_t>(extent, kMaxThreads), {}, threads),
        state_.Size(LevelKey(loop, 2), std::min<int64_t>(extent, 16), {}, inner),
        state_.Size(LevelKey(loop, 3), std::min<int64_t>(extent, 16), {}, 1)};
    state_.Do(Split{loop, factors});
    for (int level = 0; level < 4; ++level) s_[level].push_back(LevelKey(loop, level));
  }

  void SplitReduce(size_t iter) {
    LoopRef loop = BaseKey(block_.name, block_.iters[iter]);
    int64_t extent = ExtentOf(block_, iter);
    bool first = iter == reduce_.back();
    std::vector<Expr> factors = {
        state_.Size(LevelKey(loop, 1), std::min<int64_t>(extent, 64), {}, first ? 8 : 1),
        state_.Size(LevelKey(loop, 2), std::min<int64_t>(extent, 8), {}, 1)};
    state_.Do(Split{loop, factors});
    for (int level = 0; level < 3; ++level) r_[level].push_back(LevelKey(loop, level));
  }

  // Each operand whose window is known is fetched by all threads together, `vector` at a time along
  // its last dimension, before the inner loops of a step of the reduction.
  void StageOperands() {
    std::vector<std::string> buffers;
    for (const Access& read : ReadsOf(block_)) {
      const std::string& name = read.buffer->name;
      if (read.indices.empty()) continue;
      if (std::find(buffers.begin(), buffers.end(), name) == buffers.end()) buffers.push_back(name);
    }
    for (const std::string& buffer : buffers) Stage(buffer);
  }

  void Stage(const std::string& buffer) {
    std::string copy = block_.name + "." + buffer;
    SketchState before = state_;
    if (!state_.Try(CacheRead{buffer, {block_.name}, Scope::kShared, copy}) ||
        !state_.Try(ComputeAt{copy, r_[0].back()})) {
      state_ = std::move(before);
      return;
    }
    state_.MarkDone(copy);
    std::vector<LoopRef> loops;
    for (size_t d = 0; d < BufferNamed(state_.fn(), copy).value().rank(); ++d) {
      loops.push_back(copy + "/ax" + std::to_string(d));
    }
    Expr vector = state_.Size(LevelKey(loops.back(), 1), 4, {DomainKind::kChoice, {1, 2, 4}}, 1);
    LoopRef lanes = LevelKey(loops.back(), 1);
    state_.Do(Split{loops.back(), {vector}});
    loops.back() = LevelKey(loops.back(), 0);
    state_.Do(Vectorize{lanes});
    LoopRef fused = FuseAll(state_, loops);
    state_.Do(Split{fused, {threads_}});
    state_.Do(Bind{LevelKey(fused, 1), ForKind::kThreadIdxX});
  }

  // Registers have no addresses: every index of the result's tile is a constant.
  void UnrollRegisters() {
    for (int level : {2, 3}) {
      for (const LoopRef& loop : s_[level]) {
        state_.Do(Unroll{loop});
        state_.Do(Unroll{block_.name + ".init" + loop.substr(block_.name.size())});
      }
    }
    for (const LoopRef& loop : r_[2]) state_.Do(Unroll{loop});
    for (const LoopRef& loop : reader_.loops) state_.Do(Unroll{loop});
  }

  SketchState state_;
  const Block& block_;
  std::vector<size_t> spatial_, reduce_;
  std::array<std::vector<LoopRef>, 4> s_;  // loops of the spatial axes by level
  std::array<std::vector<LoopRef>, 3> r_;  // and of the reduce axes
  ResultReader reader_;                    // of the register tile
  LoopRef thread_loop_;
  Expr threads_;
};

std::vector<SketchState> TileRule(const SketchState& state, const Block& block, const Target&) {
  bool fits = IsReduction(block) && WritesPlainly(block) && HasReuse(block) &&
              !ItersOf(block, IterKind::kSpatial).empty() &&
              !ItersOf(block, IterKind::kReduce).empty();
  if (!fits) return {};
  return {TiledContraction(state, block).Build()};
}

std::vector<SketchState> MapRule(const SketchState& state, const Block& block, const Target&) {
  if (!ItersOf(block, IterKind::kReduce).empty()) return {};
  SketchState next = state;
  BindMap(next, block);
  return {next};
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
  bool fits = IsReduction(block) && WritesPlainly(block) && !HasReuse(block) && !spatial.empty() &&
              !reduce.empty() && ExtentOf(block, reduce.back()) >= kWarp;
  if (!fits) return {};
  SketchState next = state;
  LoopRef loop = BaseKey(block.name, block.iters[reduce.back()]);
  std::string thread = LevelKey(loop, 1).substr(block.name.size());
  int64_t most = std::min(ExtentOf(block, reduce.back()), kMaxThreads);
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
  Expr threads = next.Size(LevelKey(fused, 1), kMaxThreads, {DomainKind::kMultiples, {32}}, 128);
  next.Do(Split{fused, {threads}});
  next.Do(Bind{LevelKey(fused, 0), ForKind::kBlockIdxX});
  next.Do(Bind{LevelKey(fused, 1), ForKind::kThreadIdxX});
  return {next};
}

constexpr SketchRule kRules[] = {
    // name, rule, what it fits
    {"tile", TileRule, "reductions whose operands are used again"},
    {"cross_thread", CrossThreadRule, "long reductions whose operands are read once"},
    {"map", MapRule, "blocks without a reduction"},
    {"thread", ThreadRule, "everything: a thread for each result"},
};

}  // namespace

std::span<const SketchRule> GpuSketchRules() {
  return kRules;
}

}  // namespace tcc
