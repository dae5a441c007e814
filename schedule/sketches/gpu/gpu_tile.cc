#include "schedule/sketches/gpu/gpu_rules.h"

#include <algorithm>
#include <array>

#include "ir/analysis/accesses.h"
#include "schedule/analysis/guard.h"
#include "schedule/analysis/reduction_nest.h"
#include "schedule/sketches/gpu/gpu_parts.h"
#include "schedule/sketches/gpu/gpu_thresholds.h"
#include "schedule/sketches/gpu/part_sum.h"
#include "schedule/sketches/gpu/thread_tile.h"
#include "schedule/sketches/parts/block_pattern.h"
#include "schedule/sketches/parts/default_tiles.h"
#include "schedule/sketches/parts/sketch_parts.h"
#include "schedule/space/bank_conflicts.h"
#include "schedule/space/limits.h"
#include "schedule/steps/cache.h"
#include "schedule/steps/compute_at.h"
#include "schedule/steps/decompose_reduction.h"
#include "schedule/steps/loop_kind.h"
#include "schedule/steps/reorder.h"
#include "schedule/steps/rfactor.h"
#include "schedule/steps/software_pipeline.h"
#include "schedule/steps/split.h"
#include "schedule/steps/storage_align.h"
#include "support/check.h"
#include "support/integer_division.h"
#include "support/storage_types.h"

namespace tcc {
namespace {

// A loop to be tiled, with its extent, or the largest extent if that is free.
struct TiledLoop {
  LoopRef loop;
  int64_t extent = 1;
};

std::vector<TiledLoop> LoopsOf(const Block& block, IterKind kind, const std::string& name) {
  std::vector<TiledLoop> loops;
  for (size_t i : ItersOf(block, kind)) {
    loops.push_back({BaseKey(name, block.iters[i]), ExtentOf(block, i)});
  }
  return loops;
}

// The reduction, or one part of it, that is tiled; `reader` takes the results from registers.
struct Tiling {
  std::string block;
  std::vector<TiledLoop> spatial, reduce;
  LoopRef part;                       // the loop over parts, "" without parts
  std::vector<std::string> operands;  // buffers
  ResultReader reader;
  // The reduction that sums up the parts, and what takes its results; null without parts.
  const Block* sum = nullptr;
  LoopRef summed = {};  // its loop over parts
  ResultReader results = {};
};

std::vector<std::string> OperandsOf(const Block& block) {
  std::vector<std::string> buffers;
  for (const Access& read : ReadsOf(block)) {
    const std::string& name = read.buffer->name;
    bool known = std::ranges::find(buffers, name) != buffers.end();
    if (!read.indices.empty() && !known) buffers.push_back(name);
  }
  return buffers;
}

class ThreadTiled {
 public:
  ThreadTiled(const SketchState& state, Tiling tiling, const ThreadTile& start,
              const Target& target)
      : state_(state), t_(std::move(tiling)), start_(start), target_(target) {}

  SketchState Build() && {
    SplitAxes();
    std::vector<LoopRef> order = s_[0];
    if (!t_.part.empty()) order.push_back(t_.part);
    for (const auto* level : {&s_[1], &s_[2], &r_[0], &r_[1], &r_[2], &s_[3], &s_[4]}) {
      order.insert(order.end(), level->begin(), level->end());
    }
    state_.Do(Reorder{order});
    if (!t_.part.empty()) state_.Do(Bind{t_.part, ForKind::kBlockIdxY});
    const LoopRef tiles = FuseAll(state_, s_[0]);
    state_.Do(Bind{tiles, ForKind::kBlockIdxX});
    if (!s_[1].empty()) state_.Do(Bind{FuseAll(state_, s_[1]), ForKind::kVthread});
    LoopRef threads = FuseAll(state_, s_[2]);
    threads_ = LoopAt(FindLoop(state_.fn(), threads).value())->extent;
    state_.Do(Bind{threads, ForKind::kThreadIdxX});
    // There is one loop of steps, each of which copies for a later one.
    r_[0] = {FuseAll(state_, r_[0])};
    state_.Do(DecomposeReduction{t_.block, r_[0][0]});
    state_.Do(ReverseComputeAt{t_.reader.block, threads});
    // OpenCL 1.2, 3.3.1: blocks of a launch do not see what others wrote.
    const bool sums_behind = t_.sum && target_.api == GpuApi::kCuda;
    if (sums_behind) state_.Do(ReverseComputeAt{t_.sum->name, tiles});
    for (const std::string& buffer : t_.operands) {
      if (target_.shared_is_memory) {
        Hold(buffer);
      } else {
        Stage(buffer);
      }
    }
    UnrollRegisters();
    PipelineStages();
    if (sums_behind) SumParts(state_, *t_.sum, sums_, t_.results);
    if (t_.sum && !sums_behind) SumPartsApart(state_, *t_.sum, t_.summed, t_.results, target_);
    return std::move(state_);
  }

 private:
  // Splits the axes; the two largest, from the right, get virtual threads.
  void SplitAxes() {
    int wide = 0;
    for (size_t s = t_.spatial.size(); s-- > 0;) {
      bool is_wide = t_.spatial[s].extent >= 4 && wide < 2;
      if (is_wide) ++wide;
      SplitSpatial(t_.spatial[s], start_.spatial[s], is_wide);
    }
    for (auto& level : s_) std::ranges::reverse(level);
    std::ranges::reverse(sums_);
    for (size_t r = 0; r < t_.reduce.size(); ++r) SplitReduce(t_.reduce[r], start_.reduce[r]);
  }

  void SplitSpatial(const TiledLoop& axis, const ThreadLevels& start, bool is_wide) {
    const auto& [loop, extent] = axis;
    int64_t most_vthreads = is_wide ? std::min(extent, kMaxVthreads) : 1;
    std::array<Expr, 5> sizes = {
        Expr(), state_.Size(LevelKey(loop, 1), most_vthreads, {}, start.vthreads),
        state_.Size(LevelKey(loop, 2), std::min(extent, target_.limits.max_threads), {},
                    start.threads),
        state_.Size(LevelKey(loop, 3), std::min<int64_t>(extent, 16), {}, 1),
        state_.Size(LevelKey(loop, 4), std::min<int64_t>(extent, 16), {}, start.inner)};
    // At least one level of threads is needed.
    const bool kept = axis.loop == t_.spatial.front().loop && s_[2].empty();
    SplitLevels(loop, sizes, kept ? 2 : 0, s_);
    const bool dealt = kept || !IsConstant(sizes[2], 1);
    sums_.push_back({Expr(), dealt ? sizes[2] : Expr(), sizes[1] * sizes[3] * sizes[4]});
  }

  void SplitReduce(const TiledLoop& axis, const StepLevels& start) {
    const auto& [loop, extent] = axis;
    std::array<Expr, 3> sizes = {
        Expr(), state_.Size(LevelKey(loop, 1), std::min(extent, kMaxTurns), {}, start.turns),
        state_.Size(LevelKey(loop, 2), std::min<int64_t>(extent, 16), {}, start.inner)};
    SplitLevels(loop, sizes, 0, r_);
  }

  // Splits by the sizes of all levels but the first. A level whose size can only be 1 gets no loop,
  // unless it is `kept`.
  template <size_t kLevels>
  void SplitLevels(const LoopRef& loop, const std::array<Expr, kLevels>& sizes, size_t kept,
                   std::array<std::vector<LoopRef>, kLevels>& loops) {
    std::vector<Expr> factors;
    std::vector<size_t> levels;
    for (size_t level = 1; level < kLevels; ++level) {
      if (IsConstant(sizes[level], 1) && level != kept) continue;
      factors.push_back(sizes[level]);
      levels.push_back(level);
    }
    if (factors.empty()) return loops[0].push_back(loop);
    state_.Do(Split{loop, factors});
    loops[0].push_back(LevelKey(loop, 0));
    for (size_t i = 0; i < levels.size(); ++i) loops[levels[i]].push_back(LevelKey(loop, i + 1));
  }

  // Places the block that fills a shared buffer with an operand in the step of the reduction that
  // needs it: the map that computes the operand for this block alone, or a copy. Returns nullptr if
  // the window is not known.
  const Block* PlaceFiller(const std::string& buffer) {
    Var var = BufferNamed(state_.fn(), buffer).value().var;
    const Block* map = OnlyMapInto(state_.fn(), var);
    std::string copy = t_.block + "." + buffer;
    SketchState before = state_;
    if (map && !state_.IsDone(map->name) && OnlyReaderOf(state_.fn(), var)) {
      std::string name = map->name;
      if (state_.Try(SetScope{buffer, Scope::kShared}) &&
          state_.Try(ComputeAt{name, r_[0].back()})) {
        return BlockNamed(name);
      }
      state_ = before;
    }
    if (state_.Try(CacheRead{buffer, {t_.block}, Scope::kShared, copy}) &&
        state_.Try(ComputeAt{copy, r_[0].back()})) {
      return BlockNamed(copy);
    }
    state_ = std::move(before);
    return nullptr;
  }

  const Block* BlockNamed(const std::string& name) const {
    return FindBlock(state_.fn(), name).value().back().as<Block>();
  }

  // Makes all threads together fetch the operand, `vector` cells at a time along its last
  // dimension, before the inner loops of a step of the reduction.
  void Stage(const std::string& buffer) {
    const Block* filler = PlaceFiller(buffer);
    if (!filler) return;
    staged_ = true;
    std::string name = filler->name;
    state_.MarkDone(name);
    std::vector<LoopRef> loops = KeysOf(*filler, ItersOf(*filler, IterKind::kSpatial));
    int64_t last = ExtentOf(*filler, filler->iters.size() - 1);
    Expr vector = state_.Size(LevelKey(loops.back(), 1), 4, {DomainKind::kChoice, {1, 2, 4}},
                              CopyLanes(last));
    LoopRef lanes = LevelKey(loops.back(), 1);
    state_.Do(Split{loops.back(), {vector}});
    loops.back() = LevelKey(loops.back(), 0);
    state_.Do(Vectorize{lanes});
    TCC_CHECK(FetchTogether(state_, loops, threads_));
    SpreadRows(*BlockNamed(name), CopyLanes(last));
  }

  // Makes each thread load the operand's cells for the unrolled terms into registers, `vector`
  // cells at a time along its last dimension.
  void Hold(const std::string& buffer) {
    const std::string copy = t_.block + "." + buffer;
    SketchState next = state_;
    if (!next.Try(CacheRead{buffer, {t_.block}, Scope::kLocal, copy}) ||
        !next.Try(ComputeAt{copy, r_[r_[1].empty() ? 0 : 1].back()})) {
      return;
    }
    state_ = std::move(next);
    state_.MarkDone(copy);
    const Block& filler = *BlockNamed(copy);
    std::vector<LoopRef> loops = KeysOf(filler, ItersOf(filler, IterKind::kSpatial));
    const LoopRef lanes = LevelKey(loops.back(), 1);
    const int64_t last = ExtentOf(filler, filler.iters.size() - 1);
    Expr vector = state_.Size(lanes, 4, {DomainKind::kChoice, {1, 2, 4}}, CopyLanes(last));
    state_.Do(Split{loops.back(), {vector}});
    state_.Do(Vectorize{lanes});
    loops.back() = LevelKey(loops.back(), 0);
    for (const LoopRef& loop : loops) state_.Do(Unroll{loop});
  }

  // Pads the rows of a staged operand, if threads read several of them, to reduce bank conflicts:
  // rows begin at odd multiples of half a free number of cells, which is 1 for rows without gaps.
  // The initial number is the smallest with the fewest bank conflicts among those that keep copies
  // of `lanes` cells aligned.
  void SpreadRows(const Block& filler, int64_t lanes) {
    Buffer buffer = BufferNamed(state_.fn(), WritesOf(filler)[0].buffer->name).value();
    if (ReadsOfRows(state_.fn(), buffer.var).empty()) return;
    auto align = [&](const Expr& cells) {
      auto dim = static_cast<int64_t>(buffer.rank()) - 2;
      return StorageAlign{buffer.var->name, dim, cells, FloorDivide(cells, Expr(2))};
    };
    int64_t vectors = 2 * Target::kWidestAccess / WholeBytes(buffer.dtype());
    Domain domain{DomainKind::kChoice, {1, 2, vectors}};
    int64_t start = 1, fewest = INT64_MAX;
    for (int64_t cells : domain.numbers) {
      if (cells > 1 && cells / 2 % lanes != 0) continue;
      Function fn = Apply(state_.fn(), align(Expr(cells)));
      int64_t passes = 0;
      for (const Access& read : ReadsOfRows(fn, buffer.var)) {
        passes += WarpPasses(fn, t_.block, read, state_.start()).value_or(1);
      }
      if (passes < fewest) start = cells;
      fewest = std::min(fewest, passes);
    }
    state_.Do(align(state_.Size(filler.name + "/rows", vectors, domain, start)));
  }

  std::vector<Access> ReadsOfRows(const Function& fn, const Var& buffer) const {
    std::vector<Access> reads = ReadsOf(*BlockAt(FindBlock(fn, t_.block).value()));
    std::erase_if(reads, [&](const Access& read) {
      return !(read.buffer == buffer) || !ThreadsReadRows(fn, t_.block, read);
    });
    return reads;
  }

  // Unrolls the loops around registers, which have no addresses: every index of the result's tile
  // must be a constant.
  void UnrollRegisters() {
    for (int level : {3, 4}) {
      for (const LoopRef& loop : s_[level]) {
        state_.Do(Unroll{loop});
        state_.Do(Unroll{t_.block + ".init" + loop.substr(t_.block.size())});
      }
    }
    for (const LoopRef& loop : r_[2]) state_.Do(Unroll{loop});
    for (const LoopRef& loop : t_.reader.loops) state_.Do(Unroll{loop});
  }

  // Pipelines the loop: copies of later steps of the reduction are in flight while this one
  // computes. Two stages alternate between two buffers; more stages pay off if the copies are
  // asynchronous.
  void PipelineStages() {
    if (!staged_) return;
    const LoopRef& loop = r_[0].back();
    bool async = target_.sm >= kAsyncCopies;
    Domain domain{DomainKind::kChoice, {1, 2}};
    if (async) domain.numbers = {1, 2, 3, 4, 5};
    Expr stages = state_.Size(loop + ".stages", domain.numbers.back(), domain, async ? 3 : 2);
    state_.Do(
        SoftwarePipeline{loop, stages, async ? ForKind::kPipelinedAsync : ForKind::kPipelined});
  }

  SketchState state_;
  Tiling t_;
  const ThreadTile& start_;
  const Target& target_;
  std::array<std::vector<LoopRef>, 5> s_;  // loops of the spatial axes by level
  std::array<std::vector<LoopRef>, 3> r_;  // and of the reduce axes
  std::vector<SummedAxis> sums_;           // the spatial axes as threads sum up parts
  Expr threads_;
  bool staged_ = false;
};

// Returns what the tile of a block depends on.
TiledProduct ProductOf(const Function& fn, const Block& block) {
  TiledProduct product;
  const std::vector<size_t> spatial = ItersOf(block, IterKind::kSpatial);
  for (size_t s : spatial) product.spatial.push_back(ExtentOf(block, s));
  for (size_t r : ItersOf(block, IterKind::kReduce)) product.reduce.push_back(ExtentOf(block, r));
  for (const std::string& name : OperandsOf(block)) {
    const Buffer buffer = BufferNamed(fn, name).value();
    TiledOperand operand{.has = std::vector<bool>(spatial.size()),
                         .last = std::nullopt,
                         .cell_bytes = WholeBytes(buffer.dtype()),
                         .lanes = CopyLanes(AsConstant(buffer.shape.back()).value_or(1))};
    for (const Access& read : ReadsOf(block)) {
      if (read.buffer->name != name) continue;
      for (size_t s = 0; s < spatial.size(); ++s) {
        const Var& var = block.iters[spatial[s]].var;
        if (Uses(read, var)) operand.has[s] = true;
        if (StrideAlong(fn, read, var) == 1) operand.last = s;
      }
    }
    product.operands.push_back(std::move(operand));
  }
  return product;
}

SketchState Tiled(const SketchState& state, const Block& block, const ThreadTile& start,
                  const Target& target) {
  SketchState next = state;
  Tiling tiling{.block = block.name,
                .spatial = LoopsOf(block, IterKind::kSpatial, block.name),
                .reduce = LoopsOf(block, IterKind::kReduce, block.name),
                .part = "",
                .operands = OperandsOf(block),
                .reader = KeepResultLocal(next, block)};
  return ThreadTiled(next, std::move(tiling), start, target).Build();
}

SketchState TiledInParts(const SketchState& state, const Block& block, const ThreadTile& start,
                         const Target& target) {
  SketchState next = state;
  next.AddRuleName("split_k");
  ResultReader reader = KeepResultLocal(next, block);
  const std::vector<size_t> reduce = ItersOf(block, IterKind::kReduce);
  std::vector<int64_t> extents;
  for (size_t r : reduce) extents.push_back(ExtentOf(block, r));
  const size_t axis = reduce[LongestAxis(extents)];
  LoopRef loop = BaseKey(block.name, block.iters[axis]);
  const int64_t extent = ExtentOf(block, axis);
  const int64_t most = std::clamp<int64_t>(extent / kReductionStep, 2, kMaxSplitParts);
  Expr parts = next.Size(LevelKey(loop, 0), most, {}, start.parts);
  next.Do(Split{loop, {CeilDivide(Expr(extent), parts)}});
  std::string name = block.name + ".part";
  next.Do(RFactor{block.name, LevelKey(loop, 0), 0, Scope::kGlobal, name});

  LoopRef part_loop = name + loop.substr(block.name.size());
  Tiling tiling{.block = name,
                .spatial = LoopsOf(block, IterKind::kSpatial, name),
                .reduce = LoopsOf(block, IterKind::kReduce, name),
                .part = LevelKey(part_loop, 0),
                .operands = OperandsOf(block),
                .reader = {.block = name + ".out", .loops = {}},
                .sum = &block,
                .summed = LevelKey(loop, 0),
                .results = reader};
  for (TiledLoop& reduced : tiling.reduce) {
    if (reduced.loop == part_loop) reduced.loop = LevelKey(part_loop, 1);
  }
  next.Do(CacheWrite{name, name, Scope::kLocal, tiling.reader.block});
  for (size_t d = 0; d <= tiling.spatial.size(); ++d) {
    tiling.reader.loops.push_back(tiling.reader.block + "/ax" + std::to_string(d));
  }
  for (const char* made : {"", ".init", ".out"}) next.MarkDone(name + made);
  return ThreadTiled(next, std::move(tiling), start, target).Build();
}

}  // namespace

std::vector<SketchState> TileForThreads(const SketchState& state, const Block& block,
                                        const Target& target) {
  const TiledProduct product = ProductOf(state.fn(), block);
  const auto& [whole, in_parts] = ChooseThreadTile(product, target);
  std::vector<SketchState> ways = {Tiled(state, block, whole, target)};
  if (!in_parts || 100 * in_parts->seconds > kMaxPartsPercent * whole.seconds) return ways;
  ways.push_back(TiledInParts(state, block, *in_parts, target));
  if (in_parts->seconds < whole.seconds) std::swap(ways[0], ways[1]);
  return ways;
}

}  // namespace tcc
