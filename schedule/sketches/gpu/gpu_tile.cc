#include "schedule/sketches/gpu/gpu_rules.h"

#include <algorithm>
#include <array>

#include "ir/analysis/accesses.h"
#include "schedule/analysis/guard.h"
#include "schedule/analysis/reduction_nest.h"
#include "schedule/sketches/gpu/gpu_parts.h"
#include "schedule/sketches/gpu/gpu_thresholds.h"
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

// The most turns of an axis that a search gives a step.
constexpr int64_t kMaxTurns = 64;

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

int64_t Product(const std::vector<TiledLoop>& loops) {
  int64_t product = 1;
  for (const TiledLoop& loop : loops) product *= loop.extent;
  return product;
}

// The reduction, or one part of it, that is tiled; `reader` takes the results from registers.
struct Tiling {
  std::string block;
  std::vector<TiledLoop> spatial, reduce;
  LoopRef part;                       // the loop over parts, "" without parts
  std::vector<std::string> operands;  // buffers
  ResultReader reader;
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
  ThreadTiled(const SketchState& state, Tiling tiling, const Target& target)
      : state_(state), t_(std::move(tiling)), target_(target) {}

  SketchState Build() && {
    SplitAxes();
    std::vector<LoopRef> order;
    if (!t_.part.empty()) order.push_back(t_.part);
    for (const auto* level : {&s_[0], &s_[1], &s_[2], &r_[0], &r_[1], &r_[2], &s_[3], &s_[4]}) {
      order.insert(order.end(), level->begin(), level->end());
    }
    state_.Do(Reorder{order});
    // It stays unfused, so that one index alone selects the part whose cells are written.
    if (!t_.part.empty()) state_.Do(Bind{t_.part, ForKind::kBlockIdxY});
    state_.Do(Bind{FuseAll(state_, s_[0]), ForKind::kBlockIdxX});
    if (!s_[1].empty()) state_.Do(Bind{FuseAll(state_, s_[1]), ForKind::kVthread});
    LoopRef threads = FuseAll(state_, s_[2]);
    threads_ = LoopAt(FindLoop(state_.fn(), threads).value())->extent;
    state_.Do(Bind{threads, ForKind::kThreadIdxX});
    // There is one loop of steps, each of which copies for a later one.
    r_[0] = {FuseAll(state_, r_[0])};
    state_.Do(DecomposeReduction{t_.block, r_[0][0]});
    state_.Do(ReverseComputeAt{t_.reader.block, threads});
    for (const std::string& buffer : t_.operands) Stage(buffer);
    UnrollRegisters();
    PipelineStages();
    return std::move(state_);
  }

 private:
  // Splits the axes; the two largest, from the right, get virtual threads.
  void SplitAxes() {
    std::vector<int64_t> extents;
    for (const TiledLoop& axis : t_.spatial) extents.push_back(axis.extent);
    std::vector<ThreadLevels> start = ChooseThreadTile(extents, !t_.part.empty(), target_);
    int wide = 0;
    for (size_t s = extents.size(); s-- > 0;) {
      bool is_wide = extents[s] >= 4 && wide < 2;
      if (is_wide) ++wide;
      SplitSpatial(t_.spatial[s], start[s], is_wide);
    }
    for (auto& level : s_) std::ranges::reverse(level);
    std::vector<StepTerms> terms = ChooseStep();
    for (size_t r = 0; r < terms.size(); ++r) SplitReduce(t_.reduce[r], terms[r]);
  }

  // How much of a reduce axis a step takes where the search starts: `turns` of `inner` terms.
  struct StepTerms {
    int64_t turns = 1, inner = 1;
  };

  // Takes kReductionStep terms of the last axis. Where it has fewer, whole axes outside it join in
  // until there are as many: a convolution of few channels takes a row of its window.
  std::vector<StepTerms> ChooseStep() const {
    std::vector<StepTerms> step(t_.reduce.size());
    int64_t terms = 1;
    for (size_t r = step.size(); r-- > 0 && terms < kReductionStep;) {
      const int64_t extent = t_.reduce[r].extent;
      const bool first = terms == 1;
      if (first) {
        step[r].inner = extent < kReductionStep ? std::max<int64_t>(extent, 1) : kUnrolledTerms;
      }
      const int64_t most = first ? kReductionStep / kUnrolledTerms : kMaxTurns;
      step[r].turns = std::clamp<int64_t>(extent / step[r].inner, 1, most);
      terms *= step[r].inner * step[r].turns;
      if (step[r].inner * step[r].turns < extent) break;
    }
    return step;
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
    SplitLevels(loop, sizes, axis.loop == t_.spatial.front().loop && s_[2].empty() ? 2 : 0, s_);
  }

  void SplitReduce(const TiledLoop& axis, const StepTerms& start) {
    const auto& [loop, extent] = axis;
    std::array<Expr, 3> sizes = {
        Expr(), state_.Size(LevelKey(loop, 1), std::min(extent, kMaxTurns), {}, start.turns),
        state_.Size(LevelKey(loop, 2), std::min<int64_t>(extent, 8), {}, start.inner)};
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
  const Target& target_;
  std::array<std::vector<LoopRef>, 5> s_;  // loops of the spatial axes by level
  std::array<std::vector<LoopRef>, 3> r_;  // and of the reduce axes
  Expr threads_;
  bool staged_ = false;
};

size_t LongestReduceAxis(const Block& block) {
  std::vector<size_t> reduce = ItersOf(block, IterKind::kReduce);
  return *std::ranges::max_element(
      reduce, [&](size_t a, size_t b) { return ExtentOf(block, a) < ExtentOf(block, b); });
}

// Returns the number of parts closest to `wanted`, larger ones first, whose parts are whole steps,
// so that copies are aligned. Parts of equal length are preferred, since none has a guard.
int64_t PartsOfWholeSteps(int64_t extent, int64_t wanted, int64_t most) {
  wanted = std::min(wanted, most);
  auto nearest = [&](auto fits) -> int64_t {
    for (int64_t parts = wanted; parts <= std::min(2 * wanted, most); ++parts) {
      if (fits(parts)) return parts;
    }
    for (int64_t parts = wanted; parts > 1; --parts) {
      if (fits(parts)) return parts;
    }
    return 0;
  };
  auto is_whole = [&](int64_t parts) { return CeilDivision(extent, parts) % kReductionStep == 0; };
  auto is_even = [&](int64_t parts) { return extent % parts == 0 && is_whole(parts); };
  int64_t even = nearest(is_even), whole = nearest(is_whole);
  if (2 * even >= wanted) return even;
  return whole > 0 ? whole : wanted;
}

}  // namespace

SketchState TileForThreads(const SketchState& state, const Block& block, const Target& target) {
  SketchState next = state;
  Tiling tiling{.block = block.name,
                .spatial = LoopsOf(block, IterKind::kSpatial, block.name),
                .reduce = LoopsOf(block, IterKind::kReduce, block.name),
                .part = "",
                .operands = OperandsOf(block),
                .reader = KeepResultLocal(next, block)};
  return ThreadTiled(next, std::move(tiling), target).Build();
}

bool IsWorthSplitting(const Block& block, const Target& target) {
  int64_t results = Product(LoopsOf(block, IterKind::kSpatial, block.name));
  int64_t steps = Product(LoopsOf(block, IterKind::kReduce, block.name));
  return results < BusyBlocks(target) * kResultsOfTile && steps >= kMinSplitTerms &&
         ExtentOf(block, LongestReduceAxis(block)) >= 2 * kReductionStep;
}

SketchState TilePartsForThreads(const SketchState& state, const Block& block,
                                const Target& target) {
  SketchState next = state;
  next.AddRuleName("split_k");
  ResultReader reader = KeepResultLocal(next, block);
  size_t axis = LongestReduceAxis(block);
  LoopRef loop = BaseKey(block.name, block.iters[axis]);
  int64_t extent = ExtentOf(block, axis);
  int64_t tiles =
      CeilDivision(Product(LoopsOf(block, IterKind::kSpatial, block.name)), kResultsOfTile);
  int64_t steps = Product(LoopsOf(block, IterKind::kReduce, block.name));
  int64_t least = std::max(kReductionStep, kMinPartTerms * extent / steps);
  int64_t most = std::clamp<int64_t>(extent / least, 2, kMaxSplitParts);
  int64_t start = PartsOfWholeSteps(extent, CeilDivision(BusyBlocks(target), tiles), most);
  Expr parts = next.Size(LevelKey(loop, 0), most, {}, start);
  next.Do(Split{loop, {CeilDivide(Expr(extent), parts)}});
  std::string name = block.name + ".part";
  next.Do(RFactor{block.name, LevelKey(loop, 0), 0, Scope::kGlobal, name});

  LoopRef part_loop = name + loop.substr(block.name.size());
  Tiling tiling{.block = name,
                .spatial = LoopsOf(block, IterKind::kSpatial, name),
                .reduce = LoopsOf(block, IterKind::kReduce, name),
                .part = LevelKey(part_loop, 0),
                .operands = OperandsOf(block),
                .reader = {.block = name + ".out", .loops = {}}};
  for (TiledLoop& reduced : tiling.reduce) {
    if (reduced.loop == part_loop) reduced.loop = LevelKey(part_loop, 1);
  }
  next.Do(CacheWrite{name, name, Scope::kLocal, tiling.reader.block});
  for (size_t d = 0; d <= tiling.spatial.size(); ++d) {
    tiling.reader.loops.push_back(tiling.reader.block + "/ax" + std::to_string(d));
  }
  for (const char* made : {"", ".init", ".out"}) next.MarkDone(name + made);
  next = ThreadTiled(next, std::move(tiling), target).Build();
  CombineParts(next, block, LevelKey(loop, 0), reader);
  return next;
}

}  // namespace tcc
