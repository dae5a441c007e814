#include "schedule/cpu_tile.h"

#include <algorithm>

#include "ir/accesses.h"
#include "ir/support/integer_division.h"
#include "ir/support/storage_types.h"
#include "ir/visitor.h"
#include "schedule/block_pattern.h"
#include "schedule/default_tiles.h"
#include "schedule/operand_panels.h"
#include "schedule/panel_copy.h"
#include "schedule/reduction_nest.h"
#include "schedule/sketch_parts.h"

namespace tcc {
namespace {

// Below this many scalar steps a fork and join costs more than it saves.
constexpr int64_t kParallelWork = 1 << 15;

// Which axis varies slower while tiles are computed one after another; with the columns outside,
// the next packed panel of a constant may be brought near while one is used.
enum class TileOrder : uint8_t { kColumnsOutside, kRowsOutside, kPanelsAhead };

// Which operands lie in panels of columns: constants, packed when the model is linked, or also what
// is copied whenever the function runs.
enum class Panels : uint8_t { kOfConstants, kOfAll };

// Whether a tile of registers has the whole reduction, or one step of it before the next tile has
// the same.
enum class ReduceLevels : uint8_t { kOne, kTwo };

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

// Fewer terms than this are no more than some steps that fill the first cache: one pass over
// the results costs less than to come back to them.
constexpr int64_t kLongReduction = 1024;

// Sums of random products, one after another, have errors of about 1e-5 of their deviation after so
// many; in steps of some hundreds a tenth of that.
constexpr int64_t kLongChain = 4096;

struct TileChoice {
  TileOrder order = TileOrder::kColumnsOutside;
  Panels panels = Panels::kOfConstants;
  ReduceLevels levels = ReduceLevels::kOne;
};

// The axis of a reduction that is cut into steps: the longest.
size_t LongestOf(const Block& block, const std::vector<size_t>& reduce) {
  auto shorter = [&](size_t a, size_t b) { return ExtentOf(block, a) < ExtentOf(block, b); };
  return static_cast<size_t>(std::max_element(reduce.begin(), reduce.end(), shorter) -
                             reduce.begin());
}

int64_t TermsOf(const Block& block, const std::vector<size_t>& reduce) {
  double terms = 1;
  for (size_t r : reduce) terms *= static_cast<double>(ExtentOf(block, r));
  return static_cast<int64_t>(std::min(terms, 9e15));
}

// Pieces of rows that make threads busy.
constexpr int64_t kPieces = 8;

// A spatial axis along which windows slide over dimension `dim` of a buffer that `producer` makes.
struct RollingRows {
  std::string producer, buffer;
  size_t dim = 0;
  size_t axis = 0;  // of the spatial ones
};

// The reduction of columnwise windows is unrolled, its last loop inside rows.2; its first and last
// tiles of rows, which have padding, are code of their own.
class RegisterTiled {
 public:
  RegisterTiled(const SketchState& state, const Block& block, const Target& target,
                const TileChoice& choice)
      : state_(Prepacked(state, block)),
        block_(block),
        target_(target),
        choice_(choice),
        spatial_(ItersOf(block, IterKind::kSpatial)),
        reduce_(ItersOf(block, IterKind::kReduce)) {
    // A dimension that is kept has an extent of 1: the last ones that have more.
    columns_ = spatial_.size() - 1;
    while (columns_ > 0 && Extent(columns_) == 1) --columns_;
    for (size_t s = 0; s < spatial_.size(); ++s) {
      if (s != columns_ && Extent(s) > 1) rows_ = s;
    }
    columnwise_ = rows_ && IsColumnwise(block, spatial_[columns_]);
    if (choice.levels == ReduceLevels::kTwo) {
      steps_ = LongestOf(block, reduce_);
      FindMiddle();
    }
  }

  // The axis along which rows of `buffer` may be kept, outside of the tiles. Rows inside of them,
  // as pools of planes (NCHW) have, are not: by hand, rows that roll were no faster than a padded
  // copy of a plane, and both 10 to 90 % slower than masks at the borders where a row is at most
  // one vector, or whole ones; 20 to 40 % faster where it is neither.
  std::optional<RollingRows> FindRows(const std::string& producer, const Var& buffer) const {
    for (const Access& read : ReadsOf(block_)) {
      if (!(read.buffer == buffer)) continue;
      for (size_t d = 0; d < read.indices.size(); ++d) {
        for (size_t s = 0; rows_ && s < *rows_; ++s) {
          bool slides = s != columns_ && Extent(s) > 1 && Slides(read.indices[d], block_) &&
                        UsesVar(read.indices[d], block_.iters[spatial_[s]].var);
          if (slides) return RollingRows{producer, buffer->name, d, s};
        }
      }
    }
    return std::nullopt;
  }

  std::optional<SketchState> BuildRolling(const RollingRows& rolling) {
    rolling_ = rolling;
    SketchState tiled = Build();
    return is_rolled_ ? std::optional(std::move(tiled)) : std::nullopt;
  }

  SketchState Build() {
    DType dtype = WritesOf(block_)[0].buffer.dtype();
    std::optional<ResultReader> reader = KeepTile();
    int64_t rows = rows_ ? Extent(*rows_) : 1;
    tile_ = columnwise_ ? ChooseWindowTile(rows, Extent(columns_), target_, dtype)
                        : ChooseRegisterTile(rows, Extent(columns_), target_, dtype);
    SplitColumns(dtype);
    if (!columnwise_) PackConstants();
    if (rows_) SplitRows();
    for (size_t s : middle_) SplitMiddle(s);

    std::vector<LoopRef> outer = OuterLoops();
    std::vector<LoopRef> order = outer;
    if (rolling_) {
      SplitRollingRows();
      order.insert(order.end(), {LevelKey(Key(rolling_->axis), 1), LevelKey(Key(columns_), 0),
                                 LevelKey(Key(*rows_), 0)});
    }
    std::vector<LoopRef> reduce = KeysOf(block_, reduce_);
    if (steps_) {
      order.push_back(LevelKey(reduce[*steps_], 0));
      SplitReduction(reduce[*steps_]);
    }
    std::vector<LoopRef> middle = MiddleLoops();
    order.insert(order.end(), middle.begin(), middle.end());
    order.insert(order.end(), reduce.begin(), reduce.end());
    if (rows_) order.push_back(LevelKey(Key(*rows_), 2));
    // The first loop of the reduction stays outside, where it is decomposed.
    if (columnwise_ && reduce.size() > 1) std::swap(order[order.size() - 2], order.back());
    order.push_back(LevelKey(Key(columns_), 2));
    order.push_back(LevelKey(Key(columns_), 3));
    state_.Do(Reorder{order});
    // Where the results of a tile are done, and where a copy serves all of them.
    const LoopRef& done = steps_ ? outer.back() : middle.back();
    const LoopRef& copied = steps_ ? order[outer.size()] : outer.back();
    if (reader) state_.Do(ReverseComputeAt{reader->block, done});
    if (steps_) {
      state_.Do(RFactorTile{block_.name, copied, TileForm::kNested, Scope::kLocal, StepName()});
    } else {
      state_.Do(DecomposeReduction{block_.name, reduce[0]});
    }
    if (!columnwise_ && choice_.panels == Panels::kOfAll) CopyOthers(copied);
    FillRegisters();
    if (reader) FillReader(*reader);
    if (columnwise_) {
      for (const LoopRef& loop : reduce) state_.Do(Unroll{loop});
      state_.Do(Partition{LevelKey(Key(*rows_), 1)});
    }
    if (choice_.order == TileOrder::kPanelsAhead) PrefetchPanels();
    if (rolling_) is_rolled_ = RollRows();
    RunInParallel(state_, block_, outer);
    return state_;
  }

  bool HasPrefetch() const { return has_prefetch_; }
  bool HasRows() const { return rows_.has_value(); }
  // Some operand is used again by other tiles, which a step of the reduction brings nearer.
  bool GainsBySteps() const {
    return rows_ && !columnwise_ && HasReuse(block_) && TermsOf(block_, reduce_) >= kLongReduction;
  }
  // Whether sums of so many terms in one chain would be rounded too often.
  bool LosesByOneChain() const {
    return !HasWindow(block_) && TermsOf(block_, reduce_) >= kLongChain;
  }
  // The most that copies of what varies gained.
  PanelGain GainOfCopies() const { return gain_; }

 private:
  int64_t Extent(size_t s) const { return ExtentOf(block_, spatial_[s]); }
  bool IsMiddle(size_t s) const {
    return std::find(middle_.begin(), middle_.end(), s) != middle_.end();
  }
  LoopRef Key(size_t s) const { return BaseKey(block_.name, block_.iters[spatial_[s]]); }

  std::string StepName() const { return block_.name + ".step"; }

  // Where the tile's results are until all of them are done: in registers, or where the steps of
  // the reduction add up in memory. No reader there, where that is the result itself.
  std::optional<ResultReader> KeepTile() {
    if (!steps_) return KeepResultLocal(state_, block_);
    for (const std::string& name : {StepName(), StepName() + ".init", block_.name + ".init"}) {
      state_.MarkDone(name);
    }
    if (!EpilogueOf(state_.fn(), block_)) return std::nullopt;
    return KeepResult(state_, block_, Scope::kGlobal);
  }

  // Axes beside those of the tile whose values share an operand: a step has some in turn.
  void FindMiddle() {
    for (size_t s = 0; s < spatial_.size(); ++s) {
      if (s == columns_ || rows_ == s || Extent(s) == 1) continue;
      std::vector<Access> reads = ReadsOf(block_);
      bool shares = std::any_of(reads.begin(), reads.end(), [&](const Access& read) {
        return std::none_of(read.indices.begin(), read.indices.end(), [&](const Expr& index) {
          return UsesVar(index, block_.iters[spatial_[s]].var);
        });
      });
      if (shares) middle_.push_back(s);
    }
  }

  // Terms of the reduction for each value of the axis that is cut into steps.
  int64_t TermsOfStep() const {
    return TermsOf(block_, reduce_) / std::max<int64_t>(ExtentOf(block_, reduce_[*steps_]), 1);
  }

  int64_t FirstStep() const {
    return ChooseReductionStep(tile_, ExtentOf(block_, reduce_[*steps_]), TermsOfStep(), target_,
                               WritesOf(block_)[0].buffer.dtype());
  }

  // Of a step, what some rows of results read stays in half of the second cache.
  int64_t RowsOfStep() const {
    int64_t bytes = WholeBytes(WritesOf(block_)[0].buffer.dtype());
    return std::max<int64_t>(target_.l2_bytes / 2 / (FirstStep() * TermsOfStep() * bytes), 1);
  }

  // `loop` becomes the inner one.
  void SplitReduction(LoopRef& loop) {
    LoopRef inner = LevelKey(loop, 1);
    int64_t extent = ExtentOf(block_, reduce_[*steps_]);
    state_.Do(Split{loop, {state_.Size(inner, extent, {}, FirstStep())}});
    loop = inner;
  }

  void SplitMiddle(size_t s) {
    LoopRef key = Key(s);
    int64_t rows = rows_ ? Extent(*rows_) : 1;
    int64_t start = std::clamp<int64_t>(RowsOfStep() / rows, 1, Extent(s));
    state_.Do(Split{key, {state_.Size(LevelKey(key, 1), Extent(s), {}, start)}});
  }

  // The blocks that have a tile of registers: vectors along its columns, the rest unrolled.
  void FillRegisters() {
    std::vector<std::string> names = {block_.name, block_.name + ".init"};
    if (steps_) names.insert(names.end(), {StepName(), StepName() + ".init"});
    for (const std::string& name : names) {
      std::string columns = Rekeyed(Key(columns_), name);
      state_.Do(Vectorize{LevelKey(columns, 3)});
      state_.Do(Unroll{LevelKey(columns, 2)});
      if (rows_) state_.Do(Unroll{LevelKey(Rekeyed(Key(*rows_), name), 2)});
    }
  }

  void FillReader(const ResultReader& reader) {
    if (rows_ && !steps_) state_.Do(Unroll{reader.loops[*rows_]});
    const LoopRef& columns = reader.loops[columns_];
    state_.Do(Split{columns, {lanes_}});
    if (!steps_) state_.Do(Unroll{LevelKey(columns, 0)});
    state_.Do(Vectorize{LevelKey(columns, 1)});
  }

  void SplitColumns(DType dtype) {
    int64_t extent = Extent(columns_);
    int64_t widest = std::max<int64_t>(target_.vector_bytes / WholeBytes(dtype), 1);
    LoopRef key = Key(columns_);
    lanes_ = LanesOf(state_, LevelKey(key, 3), extent, widest, tile_.lanes);
    registers_ = state_.Size(LevelKey(key, 2), 8, {}, tile_.registers);
    int64_t in_turn = choice_.order == TileOrder::kPanelsAhead ? kPanelsInTurn : 1;
    Expr panels = state_.Size(LevelKey(key, 1), std::min<int64_t>(extent, 1024), {}, in_turn);
    state_.Do(Split{key, {panels, registers_, lanes_}});
  }

  // Where the tile that is tried first gains by it.
  void PackConstants() {
    std::vector<std::string> copies;
    for (const PanelOperand& operand : ConstantOperands(state_.fn(), block_, spatial_[columns_])) {
      if (!IsWorthPacking(operand, tile_.registers * tile_.lanes)) continue;
      for (const Step& step : PackingSteps(operand, block_.name, registers_, lanes_, copies)) {
        state_.Do(step);
      }
    }
    for (const std::string& copy : copies) state_.MarkDone(copy);
    panels_ = std::move(copies);
  }

  // What varies, where it gains: panels of no use to other iterations of the outer loops by whoever
  // uses them, others once.
  void CopyOthers(const LoopRef& innermost) {
    for (const PanelOperand& operand : VaryingOperands(state_.fn(), block_, spatial_[columns_])) {
      PanelGain gain = GainOfPanels(operand, tile_.rows, tile_.registers * tile_.lanes, target_);
      if (gain == PanelGain::kNone) continue;
      bool is_own = rows_ && operand.reuse == Extent(*rows_) && !shares_panels_;
      const std::string reader = steps_ ? StepName() : block_.name;
      PanelCopy copy{reader, is_own ? innermost : "", registers_, lanes_};
      if (CopyIntoPanels(state_, operand, copy)) gain_ = std::max(gain_, gain);
    }
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
  // while its columns stay in the cache, or a part of them where there are few panels.
  void SplitRows() {
    int64_t extent = Extent(*rows_);
    LoopRef key = Key(*rows_);
    Expr rows = state_.Size(LevelKey(key, 2), std::min<int64_t>(extent, 30), {}, tile_.rows);
    int64_t others = CeilDivision(Extent(columns_), tile_.registers * tile_.lanes);
    for (size_t s = 0; s < spatial_.size(); ++s) {
      if (s != columns_ && s != *rows_) others *= Extent(s);
    }
    int64_t tiles = CeilDivision(extent, tile_.rows);
    int64_t pieces = WorkOf(block_) < kParallelWork ? 1 : CeilDivision(kPieces, others);
    int64_t start = CeilDivision(tiles, pieces);
    shares_panels_ = !steps_ && start < tiles;
    if (steps_) start = std::min(start, CeilDivision(RowsOfStep(), tile_.rows));
    Expr tiles_in_turn = state_.Size(LevelKey(key, 1), extent, {}, start);
    state_.Do(Split{key, {tiles_in_turn, rows}});
  }

  // A thread's rows of windows, at first so many that there are some pieces.
  void SplitRollingRows() {
    int64_t others = 1;
    for (size_t s = 0; s < spatial_.size(); ++s) {
      if (s != columns_ && s != *rows_ && s != rolling_->axis) others *= Extent(s);
    }
    int64_t extent = Extent(rolling_->axis);
    int64_t start = CeilDivision(extent, CeilDivision(kPieces, others));
    LoopRef key = Key(rolling_->axis);
    state_.Do(Split{key, {state_.Size(LevelKey(key, 1), extent, {}, start)}});
  }

  // The producer computes the rows that are new, by vectors along its last axis.
  bool RollRows() {
    bool placed = state_.Try(ComputeAt{rolling_->producer, LevelKey(Key(rolling_->axis), 1)}) &&
                  state_.Try(RollingBuffer{rolling_->buffer, static_cast<int64_t>(rolling_->dim)});
    if (!placed) return false;
    const Block& producer = *FindBlock(state_.fn(), rolling_->producer).value().back().as<Block>();
    int64_t extent = ExtentOf(producer, producer.iters.size() - 1);
    std::string axis =
        KeysOf(producer, {producer.iters.size() - 1})[0].substr(producer.name.size());
    std::string names[] = {producer.name, producer.name + ".fill"};
    Expr lanes = LanesOf(state_, LevelKey(names[0] + axis, 1), extent, 2 * target_.FloatLanes(),
                         MapLanes(extent, target_));
    for (const std::string& name : names) {
      state_.Do(Split{name + axis, {lanes}});
      state_.Do(Vectorize{LevelKey(name + axis, 1)});
      state_.MarkDone(name);
    }
    return true;
  }

  std::vector<LoopRef> OuterLoops() const {
    std::vector<LoopRef> outer;
    if (!rolling_) outer.push_back(LevelKey(Key(columns_), 0));
    for (size_t s = 0; s < spatial_.size(); ++s) {
      if (s == columns_ || (rolling_ && rows_ == s)) continue;
      bool is_split = rolling_ ? s == rolling_->axis : rows_ == s || IsMiddle(s);
      outer.push_back(is_split ? LevelKey(Key(s), 0) : Key(s));
    }
    return outer;
  }

  std::vector<LoopRef> MiddleLoops() const {
    std::vector<LoopRef> middle = {LevelKey(Key(columns_), 1)};
    for (size_t s : middle_) middle.push_back(LevelKey(Key(s), 1));
    if (rows_) middle.push_back(LevelKey(Key(*rows_), 1));
    if (choice_.order == TileOrder::kRowsOutside) std::reverse(middle.begin(), middle.end());
    return middle;
  }

  SketchState state_;
  const Block& block_;
  const Target& target_;
  TileChoice choice_;
  std::vector<size_t> spatial_, reduce_;  // of the block's iteration variables
  size_t columns_ = 0;                    // into spatial_: the axis of the vectors
  std::optional<size_t> rows_;            // into spatial_
  bool columnwise_ = false;
  bool shares_panels_ = false;   // at first, several threads the same
  std::optional<size_t> steps_;  // into reduce_: the axis that is cut into steps
  std::vector<size_t> middle_;   // into spatial_: further axes that a step goes round
  RegisterTile tile_;
  Expr registers_, lanes_;
  std::vector<std::string> panels_;  // packed copies of constants
  bool has_prefetch_ = false;
  PanelGain gain_ = PanelGain::kNone;
  std::optional<RollingRows> rolling_;
  bool is_rolled_ = false;
};

}  // namespace

void RunInParallel(SketchState& state, const Block& block, const std::vector<LoopRef>& loops) {
  if (loops.empty() || WorkOf(block) < kParallelWork) return;
  state.Do(Parallel{FuseAll(state, loops)});
}

SketchState Prepacked(const SketchState& state, const Block& block) {
  SketchState next = state;
  if (std::optional<Prepack> step = PrepackOfStage(state.fn(), block)) next.Do(*step);
  return next;
}

std::vector<SketchState> TileForRegisters(const SketchState& state, const Block& block,
                                          const Target& target) {
  auto tiled = [&](const TileChoice& choice) {
    return RegisterTiled(state, block, target, choice);
  };
  RegisterTiled columns = tiled({});
  bool both = columns.HasRows();
  std::vector<SketchState> forks = {columns.Build()};
  if (both) forks.push_back(tiled({.order = TileOrder::kRowsOutside}).Build());
  RegisterTiled ahead = tiled({.order = TileOrder::kPanelsAhead});
  SketchState prefetching = ahead.Build();
  if (ahead.HasPrefetch()) forks.push_back(std::move(prefetching));
  RegisterTiled copying = tiled({.panels = Panels::kOfAll});
  SketchState copied = copying.Build();
  switch (copying.GainOfCopies()) {
    case PanelGain::kNone:
      break;
    case PanelGain::kStrides:
      forks.push_back(std::move(copied));
      break;
    case PanelGain::kGathers:
      // Of those that gather one is enough.
      forks.erase(forks.begin() + 1, forks.end());
      forks.insert(forks.begin(), std::move(copied));
      if (both) {
        forks.insert(forks.begin() + 1,
                     tiled({.order = TileOrder::kRowsOutside, .panels = Panels::kOfAll}).Build());
      }
      break;
  }
  if (columns.GainsBySteps()) {
    bool copies = copying.GainOfCopies() != PanelGain::kNone;
    SketchState steps = tiled({.panels = copies ? Panels::kOfAll : Panels::kOfConstants,
                               .levels = ReduceLevels::kTwo})
                            .Build();
    forks.insert(columns.LosesByOneChain() ? forks.begin() : forks.end(), std::move(steps));
  }
  return forks;
}

std::optional<SketchState> TileOverRollingRows(const SketchState& state, const Block& producer,
                                               const Block& block, const Target& target) {
  RegisterTiled tiled(state, block, target, {});
  std::optional<RollingRows> rows = tiled.FindRows(producer.name, WritesOf(producer)[0].buffer);
  return rows ? tiled.BuildRolling(*rows) : std::nullopt;
}

}  // namespace tcc
