#include <algorithm>

#include "ir/visitor.h"
#include "schedule/attention_parts.h"
#include "schedule/attention_sketch.h"
#include "schedule/block_pattern.h"
#include "schedule/constant_panels.h"
#include "schedule/default_tiles.h"
#include "schedule/reduction_nest.h"
#include "schedule/row_reduction.h"
#include "schedule/sketch_parts.h"
#include "schedule/sketch_rules.h"

// Sketch rules for CPUs: vectors along the last axis, register tiles, outer loops in parallel.
namespace tcc {
namespace {

// Below this many scalar steps a fork and join costs more than it saves.
constexpr int64_t kParallelWork = 1 << 15;

void RunInParallel(SketchState& state, const Block& block, const std::vector<LoopRef>& loops) {
  if (loops.empty() || WorkOf(block) < kParallelWork) return;
  state.Do(Parallel{FuseAll(state, loops)});
}

// The state, with what the block computes made a constant where it can be.
SketchState Prepacked(const SketchState& state, const Block& block) {
  SketchState next = state;
  if (std::optional<Prepack> step = PrepackOfStage(state.fn(), block)) next.Do(*step);
  return next;
}

// Which axis varies slower while tiles are computed one after another; with the columns outside,
// the next packed panel of a constant may be brought near while one is used.
enum class TileOrder { kColumnsOutside, kRowsOutside, kPanelsAhead };

// Panels in turn to start from where the next one is prefetched.
constexpr int64_t kPanelsInTurn = 4;

// More taps than this are a loop: unrolled, each is an instruction for every row of a tile.
constexpr int64_t kMostTaps = 32;

// A window with a filter, or none, for each column: no operand serves several columns, so that
// registers gain nothing by more than one vector of them. What neighbouring rows share is read once
// where the taps are unrolled.
bool IsColumnwise(const Block& block, size_t column) {
  int64_t taps = 1;
  for (size_t r : ItersOf(block, IterKind::kReduce))
    taps *= std::min(ExtentOf(block, r), kMostTaps);
  bool all = taps <= kMostTaps;
  for (const Access& read : ReadsOf(block)) {
    all = all && std::any_of(read.indices.begin(), read.indices.end(), [&](const Expr& index) {
            return UsesVar(index, block.iters[column].var);
          });
  }
  return all;
}

// A reduction by register tiles: `rows` of one axis times `registers` vectors of another stay in
// registers through the whole reduction.
//
//   parallel (columns.0, others, rows.0) { columns.1 { rows.1 {
//     r...  rows.2 columns.2 columns.3: tile += ...
//     the consumer, or the write-back, of the tile } } }
//
// The reduction of columnwise windows is unrolled, its last loop inside rows.2; its first and last
// tiles of rows, which have padding, are code of their own.
class RegisterTiled {
 public:
  RegisterTiled(const SketchState& state, const Block& block, const Target& target, TileOrder order)
      : state_(Prepacked(state, block)),
        block_(block),
        target_(target),
        order_(order),
        spatial_(ItersOf(block, IterKind::kSpatial)),
        reduce_(ItersOf(block, IterKind::kReduce)) {
    // A dimension that is kept has an extent of 1: the last ones that have more.
    columns_ = spatial_.size() - 1;
    while (columns_ > 0 && Extent(columns_) == 1) --columns_;
    for (size_t s = 0; s < spatial_.size(); ++s) {
      if (s != columns_ && Extent(s) > 1) rows_ = s;
    }
    columnwise_ = rows_ && IsColumnwise(block, spatial_[columns_]);
  }

  SketchState Build() {
    DType dtype = WritesOf(block_)[0].buffer.dtype();
    ResultReader reader = KeepResultLocal(state_, block_);
    int64_t rows = rows_ ? Extent(*rows_) : 1;
    tile_ = columnwise_ ? ChooseWindowTile(rows, Extent(columns_), target_, dtype)
                        : ChooseRegisterTile(rows, Extent(columns_), target_, dtype);
    SplitColumns(dtype);
    if (!columnwise_) PackConstants();
    if (rows_) SplitRows();

    std::vector<LoopRef> order = OuterLoops();
    std::vector<LoopRef> outer = order;
    std::vector<LoopRef> middle = MiddleLoops();
    std::vector<LoopRef> reduce = KeysOf(block_, reduce_);
    order.insert(order.end(), middle.begin(), middle.end());
    order.insert(order.end(), reduce.begin(), reduce.end());
    if (rows_) order.push_back(LevelKey(Key(*rows_), 2));
    // The first loop of the reduction stays outside, where it is decomposed.
    if (columnwise_ && reduce.size() > 1) std::swap(order[order.size() - 2], order.back());
    order.push_back(LevelKey(Key(columns_), 2));
    order.push_back(LevelKey(Key(columns_), 3));
    state_.Do(Reorder{order});
    state_.Do(ReverseComputeAt{reader.block, middle.back()});
    state_.Do(DecomposeReduction{block_.name, reduce[0]});

    for (const std::string& name : {block_.name, block_.name + ".init"}) {
      std::string columns = name + Key(columns_).substr(block_.name.size());
      state_.Do(Vectorize{LevelKey(columns, 3)});
      state_.Do(Unroll{LevelKey(columns, 2)});
      if (rows_) state_.Do(Unroll{LevelKey(name + Key(*rows_).substr(block_.name.size()), 2)});
    }
    if (rows_) state_.Do(Unroll{reader.loops[*rows_]});
    const LoopRef& columns = reader.loops[columns_];
    state_.Do(Split{columns, {lanes_}});
    state_.Do(Unroll{LevelKey(columns, 0)});
    state_.Do(Vectorize{LevelKey(columns, 1)});
    if (columnwise_) {
      for (const LoopRef& loop : reduce) state_.Do(Unroll{loop});
      state_.Do(Partition{LevelKey(Key(*rows_), 1)});
    }
    if (order_ == TileOrder::kPanelsAhead) PrefetchPanels();
    RunInParallel(state_, block_, outer);
    return state_;
  }

  bool HasPrefetch() const { return has_prefetch_; }
  bool HasRows() const { return rows_.has_value(); }

 private:
  int64_t Extent(size_t s) const { return ExtentOf(block_, spatial_[s]); }
  LoopRef Key(size_t s) const { return BaseKey(block_.name, block_.iters[spatial_[s]]); }

  void SplitColumns(DType dtype) {
    int64_t extent = Extent(columns_);
    int64_t widest = std::max<int64_t>(target_.vector_bytes / std::max(dtype.bytes(), 1), 1);
    LoopRef key = Key(columns_);
    lanes_ = LanesOf(state_, LevelKey(key, 3), extent, widest, tile_.lanes);
    registers_ = state_.Size(LevelKey(key, 2), 8, {}, tile_.registers);
    int64_t in_turn = order_ == TileOrder::kPanelsAhead ? kPanelsInTurn : 1;
    Expr panels = state_.Size(LevelKey(key, 1), std::min<int64_t>(extent, 1024), {}, in_turn);
    state_.Do(Split{key, {panels, registers_, lanes_}});
  }

  // Where the tile that is tried first gains by it.
  void PackConstants() {
    std::vector<std::string> copies;
    for (const ConstantOperand& operand :
         ConstantOperands(state_.fn(), block_, spatial_[columns_])) {
      if (!IsWorthPacking(operand, tile_.registers * tile_.lanes)) continue;
      for (const Step& step : PackingSteps(operand, block_.name, registers_, lanes_, copies)) {
        state_.Do(step);
      }
    }
    for (const std::string& copy : copies) state_.MarkDone(copy);
    panels_ = std::move(copies);
  }

  // While one panel of columns is used, the next.
  void PrefetchPanels() {
    if (Extent(columns_) <= tile_.registers * tile_.lanes) return;
    const LoopRef over = LevelKey(Key(columns_), 1);
    const LoopRef at = BaseKey(block_.name, block_.iters[reduce_.back()]);
    for (const std::string& panel : panels_) {
      has_prefetch_ = state_.Try(Prefetch{block_.name, panel, over, at, Expr(1)}) || has_prefetch_;
    }
  }

  // As many rows as the tile has room for; at first one thread takes all tiles of a panel in turn,
  // while its columns stay in the cache.
  void SplitRows() {
    int64_t extent = Extent(*rows_);
    LoopRef key = Key(*rows_);
    Expr rows = state_.Size(LevelKey(key, 2), std::min<int64_t>(extent, 30), {}, tile_.rows);
    int64_t tiles = (extent + tile_.rows - 1) / tile_.rows;
    Expr tiles_in_turn = state_.Size(LevelKey(key, 1), extent, {}, tiles);
    state_.Do(Split{key, {tiles_in_turn, rows}});
  }

  std::vector<LoopRef> OuterLoops() const {
    std::vector<LoopRef> outer = {LevelKey(Key(columns_), 0)};
    for (size_t s = 0; s < spatial_.size(); ++s) {
      if (s != columns_) outer.push_back(rows_ == s ? LevelKey(Key(s), 0) : Key(s));
    }
    return outer;
  }

  std::vector<LoopRef> MiddleLoops() const {
    std::vector<LoopRef> middle = {LevelKey(Key(columns_), 1)};
    if (rows_) middle.push_back(LevelKey(Key(*rows_), 1));
    if (order_ == TileOrder::kRowsOutside) std::reverse(middle.begin(), middle.end());
    return middle;
  }

  SketchState state_;
  const Block& block_;
  const Target& target_;
  TileOrder order_;
  std::vector<size_t> spatial_, reduce_;  // of the block's iteration variables
  size_t columns_ = 0;                    // into spatial_: the axis of the vectors
  std::optional<size_t> rows_;            // into spatial_
  bool columnwise_ = false;
  RegisterTile tile_;
  Expr registers_, lanes_;
  std::vector<std::string> panels_;  // packed copies of constants
  bool has_prefetch_ = false;
};

std::vector<SketchState> TileRule(const SketchState& state, const Block& block,
                                  const Target& target) {
  bool fits = IsReduction(block) && WritesPlainly(block) &&
              !ItersOf(block, IterKind::kSpatial).empty() &&
              !ItersOf(block, IterKind::kReduce).empty();
  if (!fits) return {};
  RegisterTiled columns(state, block, target, TileOrder::kColumnsOutside);
  bool both = columns.HasRows();
  std::vector<SketchState> forks = {columns.Build()};
  if (both) {
    forks.push_back(RegisterTiled(state, block, target, TileOrder::kRowsOutside).Build());
  }
  RegisterTiled ahead(state, block, target, TileOrder::kPanelsAhead);
  SketchState prefetching = ahead.Build();
  if (ahead.HasPrefetch()) forks.push_back(std::move(prefetching));
  return forks;
}

// The core of attention, with what makes its logits.
std::vector<SketchState> AttentionRule(const SketchState& state, const Block& block,
                                       const Target& target) {
  for (const Ref<Block>& core : BlocksOf(state.fn().body)) {
    if (state.IsDone(core->name) || !IsAttentionCore(*core)) continue;
    std::optional<SketchState> next = ScheduleAttention(state, *core, target);
    if (next && next->IsDone(block.name)) return {*std::move(next)};
  }
  return {};
}

// Reductions along contiguous memory, with the blocks after them, row by row.
std::vector<SketchState> RowsRule(const SketchState& state, const Block& block,
                                  const Target& target) {
  if (!IsRowReduction(block)) return {};
  std::optional<SketchState> rows = ScheduleRows(state, block, target);
  return rows ? std::vector<SketchState>{*std::move(rows)} : std::vector<SketchState>{};
}

// Gathering so few lanes costs more than it saves: the channels of an image, say, that move behind
// its pixels.
constexpr int64_t kLeastLanes = 4;

// Whether neighbours along the last variable are no neighbours in what the block reads.
bool Gathers(const Block& block) {
  const Var& last = block.iters.back().var;
  for (const Access& read : ReadsOf(block)) {
    for (size_t d = 0; d + 1 < read.indices.size(); ++d) {
      if (UsesVar(read.indices[d], last)) return true;
    }
  }
  return false;
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
  if (extent < kLeastLanes && loops.size() > 1 && Gathers(block)) {
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
  return {next};
}

// Right for any reduction and any ordered block: the outermost loop in parallel if it is spatial.
std::vector<SketchState> OuterRule(const SketchState& state, const Block& block, const Target&) {
  SketchState next = Prepacked(state, block);
  bool spatial = !block.iters.empty() && block.iters[0].kind == IterKind::kSpatial &&
                 !IsUnshared(block, block.iters[0]);
  if (spatial) RunInParallel(next, block, KeysOf(block, {0}));
  return {next};
}

constexpr SketchRule kRules[] = {
    // name, rule, what it fits
    {"attention", AttentionRule, "cores of attention, their scores and logits"},
    {"rows", RowsRule, "reductions along contiguous memory"},
    {"tile", TileRule, "reductions into one buffer"},
    {"map", MapRule, "blocks without a reduction"},
    {"outer", OuterRule, "everything"},
};

}  // namespace

std::span<const SketchRule> CpuSketchRules() {
  return kRules;
}

}  // namespace tcc
