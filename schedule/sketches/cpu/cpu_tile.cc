#include "schedule/sketches/cpu/cpu_rules.h"

#include <algorithm>
#include <optional>

#include "ir/analysis/accesses.h"
#include "ir/expr/visitor.h"
#include "schedule/analysis/reduction_nest.h"
#include "schedule/sketches/cpu/cpu_parts.h"
#include "schedule/sketches/cpu/register_tiling.h"
#include "schedule/sketches/parts/block_pattern.h"
#include "schedule/sketches/parts/cpu_thresholds.h"
#include "schedule/steps/compute_at.h"
#include "schedule/steps/decompose_reduction.h"
#include "schedule/steps/loop_kind.h"
#include "schedule/steps/prefetch.h"
#include "schedule/steps/rfactor_tile.h"
#include "schedule/steps/split.h"
#include "support/integer_division.h"
#include "support/storage_types.h"

namespace tcc {
namespace {

// The axis that varies slower while tiles are computed one after another. With the columns outside,
// the next packed panel of a constant may be prefetched while one is used.
enum class TileOrder : uint8_t { kColumnsOutside, kRowsOutside, kPanelsAhead };

// The operands that are packed into panels of columns: only constants, packed when the model is
// linked, or also non-constant operands, copied whenever the function runs.
enum class Panels : uint8_t { kOfConstants, kOfAll };

struct TileChoice {
  TileOrder order = TileOrder::kColumnsOutside;
  Panels panels = Panels::kOfConstants;
};

struct WholeTile {
  SketchState state;
  bool prefetches = false;
  PanelGain gain = PanelGain::kNone;  // of copying non-constant operands
};

// Returns the loops over pieces, which run in parallel.
std::vector<LoopRef> OuterLoops(const RegisterTiling& t) {
  std::vector<LoopRef> outer = {LevelKey(t.Key(t.columns()), 0)};
  for (size_t s = 0; s < t.spatial().size(); ++s) {
    if (s != t.columns()) outer.push_back(t.rows() == s ? LevelKey(t.Key(s), 0) : t.Key(s));
  }
  return outer;
}

int64_t AllRows(const RegisterTiling& t) {
  return t.Others() * (t.rows() ? t.Extent(*t.rows()) : 1);
}

// Returns whether the next `terms` rows of a panel can be fetched while as many are used. If they
// exceed L2, they evict themselves before they are used.
bool GainsByPrefetch(const RegisterTiling& t, int64_t terms) {
  int64_t row_bytes = t.tile().registers * t.tile().lanes * WholeBytes(t.dtype());
  return AllRows(t) >= kMinPrefetchedRows && t.Panels() >= kMinPrefetchedPanels &&
         terms <= t.target().l2_bytes / row_bytes;
}

// Prefetches what the next iteration of loop `over` reads of the panels that `reader` reads, during
// the iterations down to loop `at`. Returns false if there is nothing to prefetch.
bool PrefetchPanels(RegisterTiling& t, const std::string& reader, const LoopRef& over,
                    const LoopRef& at) {
  bool any = false;
  for (const std::string& panel : t.panels()) {
    any = t.state.Try(Prefetch{reader, panel, over, at, Expr(1)}) || any;
  }
  return any;
}

// Returns the innermost of the reduction's loops that stays one.
const LoopRef& TermLoop(const RegisterTiling& t, const std::vector<LoopRef>& reduce) {
  return reduce[reduce.size() - (t.terms() > 1 ? 2 : 1)];
}

// The initial numbers of panels and tiles that a piece computes in turn.
struct Piece {
  int64_t panels = 1;         // of columns
  int64_t tiles = 1;          // of rows
  bool has_all_rows = false;  // else several threads have rows of one panel
};

Piece FirstPiece(const RegisterTiling& t, const TileChoice& choice) {
  int64_t all_tiles = t.rows() ? CeilDivision(t.Extent(*t.rows()), t.tile().rows) : 1;
  Piece piece;
  piece.panels = t.PanelsOfPiece(t.Others() * all_tiles);
  piece.tiles = t.TilesOfPiece(piece.panels);
  piece.has_all_rows = piece.tiles == all_tiles;
  // A panel that is copied for its piece alone is used at once, while it is in L1.
  if (choice.panels == Panels::kOfAll && piece.has_all_rows) piece.panels = 1;
  return piece;
}

// Schedules tiles that run the whole reduction each.
WholeTile TileWhole(RegisterTiling t, const TileChoice& choice) {
  const Block& block = t.block();
  ResultReader reader = KeepResultLocal(t.state, block);
  bool ahead = choice.order == TileOrder::kPanelsAhead;
  const Piece piece = FirstPiece(t, choice);
  t.SplitTile(ahead ? std::max(kPrefetchedInTurn, piece.panels) : piece.panels, piece.tiles);

  std::vector<LoopRef> outer = OuterLoops(t);
  std::vector<LoopRef> tiles = {LevelKey(t.Key(t.columns()), 1)};
  if (t.rows()) tiles.push_back(LevelKey(t.Key(*t.rows()), 1));
  if (choice.order == TileOrder::kRowsOutside) std::ranges::reverse(tiles);
  std::vector<LoopRef> order = outer;
  order.insert(order.end(), tiles.begin(), tiles.end());
  std::vector<LoopRef> reduce = t.SplitTerms(KeysOf(block, t.reduce()));
  t.NestTile(order, reduce);
  t.state.Do(ReverseComputeAt{reader.block, tiles.back()});
  t.state.Do(DecomposeReduction{block.name, reduce[0]});
  PanelGain gain = PanelGain::kNone;
  if (!t.is_columnwise() && choice.panels == Panels::kOfAll) {
    gain = t.CopyOthers(block.name, outer.back(), !piece.has_all_rows);
  }
  t.FillRegisters({block.name, block.name + ".init"});
  t.LoadTerms(block.name, reduce);
  t.FillReader(reader);
  t.UnrollWindow();
  bool prefetches = false;
  if (ahead || (choice.order == TileOrder::kColumnsOutside && GainsByPrefetch(t, TermsOf(block)))) {
    // The next panel is another piece's, where a piece has one.
    LoopRef over = LevelKey(t.Key(t.columns()), piece.panels == 1 && !ahead ? 0 : 1);
    prefetches = t.Panels() > 1 && PrefetchPanels(t, block.name, over, TermLoop(t, reduce));
  }
  RunInParallel(t.state, block, outer);
  return {std::move(t.state), prefetches, gain};
}

class SteppedTile {
 public:
  explicit SteppedTile(RegisterTiling tiling)
      : t_(std::move(tiling)), step_(t_.block().name + ".step") {
    const Block& block = t_.block();
    auto shorter = [&](size_t a, size_t b) { return ExtentOf(block, a) < ExtentOf(block, b); };
    axis_ = *std::ranges::max_element(t_.reduce(), shorter);
    for (size_t s = 0; s < t_.spatial().size(); ++s) {
      bool is_other = s != t_.columns() && t_.rows() != s && t_.Extent(s) > 1;
      if (is_other && SharesAnOperand(s)) middle_.push_back(s);
    }
  }

  SketchState Build(bool copies) && {
    const Block& block = t_.block();
    std::optional<ResultReader> reader = KeepSums();
    int64_t tiles = CeilDivision(RowsOfStep(), t_.tile().rows);
    int64_t panels = t_.PanelsOfPiece(RowPieces(std::min(t_.TilesOfPiece(t_.Panels()), tiles)));
    t_.SplitTile(panels, std::min(t_.TilesOfPiece(panels), tiles));
    for (size_t s : middle_) SplitMiddle(s);

    LoopRef steps = BaseKey(block.name, block.iters[axis_]);
    std::vector<LoopRef> outer = OuterLoops(), order = outer;
    order.push_back(LevelKey(steps, 0));
    std::vector<LoopRef> reduce = SplitReduction(steps);
    order.push_back(LevelKey(t_.Key(t_.columns()), 1));
    for (size_t s : middle_) order.push_back(LevelKey(t_.Key(s), 1));
    order.push_back(LevelKey(t_.Key(*t_.rows()), 1));
    t_.NestTile(order, reduce);
    if (reader) t_.state.Do(ReverseComputeAt{reader->block, outer.back()});
    t_.state.Do(
        RFactorTile{block.name, LevelKey(steps, 0), TileForm::kNested, Scope::kLocal, step_});
    if (copies) t_.CopyOthers(step_, LevelKey(steps, 0), /*shares_panels=*/false);
    t_.FillRegisters({block.name, block.name + ".init", step_, step_ + ".init"});
    std::vector<LoopRef> terms;
    for (const LoopRef& loop : reduce) terms.push_back(Rekeyed(loop, step_));
    t_.LoadTerms(step_, terms);
    if (GainsByPrefetch(t_, FirstStep() * TermsOfStep())) {
      LoopRef panel = Rekeyed(LevelKey(t_.Key(t_.columns()), 1), step_);
      PrefetchPanels(t_, step_, panels == 1 ? LevelKey(steps, 0) : panel, TermLoop(t_, terms));
    }
    if (reader) FillReader(reader->loops[t_.columns()]);
    RunInParallel(t_.state, block, outer);
    return std::move(t_.state);
  }

 private:
  // Keeps the sums of the steps in memory. Returns their reader, or nullopt if they are the result
  // itself.
  std::optional<ResultReader> KeepSums() {
    const std::string& name = t_.block().name;
    for (const std::string& made : {step_, step_ + ".init", name + ".init"}) {
      t_.state.MarkDone(made);
    }
    if (!EpilogueOf(t_.state.fn(), t_.block())) return std::nullopt;
    return KeepResult(t_.state, t_.block(), Scope::kGlobal);
  }

  // Returns whether all values of a spatial axis read the same cells of some operand: a step then
  // runs several of them in turn.
  bool SharesAnOperand(size_t axis) const {
    const Var& iter = t_.block().iters[t_.spatial()[axis]].var;
    std::vector<Access> reads = ReadsOf(t_.block());
    return std::ranges::any_of(reads, [&](const Access& read) {
      return std::ranges::none_of(read.indices,
                                  [&](const Expr& index) { return UsesVar(index, iter); });
    });
  }

  // Returns the number of the reduction's terms per value of the axis that is cut into steps.
  int64_t TermsOfStep() const {
    return TermsOf(t_.block()) / std::max<int64_t>(ExtentOf(t_.block(), axis_), 1);
  }

  int64_t FirstStep() const {
    return ChooseReductionStep(t_.tile(), ExtentOf(t_.block(), axis_), TermsOfStep(), t_.target(),
                               t_.dtype());
  }

  // Returns the number of rows of results whose operands, for one step, stay in half of L2.
  int64_t RowsOfStep() const {
    int64_t bytes = FirstStep() * TermsOfStep() * WholeBytes(t_.dtype());
    return std::max<int64_t>(t_.target().l2_bytes / 2 / bytes, 1);
  }

  int64_t MiddleStart(size_t s) const {
    return std::clamp<int64_t>(RowsOfStep() / t_.Extent(*t_.rows()), 1, t_.Extent(s));
  }

  void SplitMiddle(size_t s) {
    LoopRef key = t_.Key(s);
    Expr middle = t_.state.Size(LevelKey(key, 1), t_.Extent(s), {}, MiddleStart(s));
    t_.state.Do(Split{key, {middle}});
  }

  // Returns the number of pieces along all axes but the columns, with `tiles` of rows in turn.
  int64_t RowPieces(int64_t tiles) const {
    int64_t pieces = CeilDivision(t_.Extent(*t_.rows()), tiles * t_.tile().rows);
    for (size_t s = 0; s < t_.spatial().size(); ++s) {
      if (s == t_.columns() || t_.rows() == s) continue;
      bool is_middle = std::ranges::find(middle_, s) != middle_.end();
      pieces *= CeilDivision(t_.Extent(s), is_middle ? MiddleStart(s) : 1);
    }
    return pieces;
  }

  // Splits the axis into steps. Returns the reduction's loops within one step.
  std::vector<LoopRef> SplitReduction(const LoopRef& steps) {
    std::vector<LoopRef> reduce = KeysOf(t_.block(), t_.reduce());
    LoopRef inner = LevelKey(steps, 1);
    // A step has whole vectors of terms.
    const int64_t terms = reduce.back() == steps ? t_.terms() : 1;
    const int64_t most = ExtentOf(t_.block(), axis_) / terms;
    Expr size = t_.state.Size(inner, most, {}, std::max<int64_t>(FirstStep() / terms, 1));
    if (terms > 1) size = size * Expr(terms);
    t_.state.Do(Split{steps, {size}});
    std::ranges::replace(reduce, steps, inner);
    return t_.SplitTerms(std::move(reduce));
  }

  std::vector<LoopRef> OuterLoops() const {
    std::vector<LoopRef> outer = {LevelKey(t_.Key(t_.columns()), 0)};
    for (size_t s = 0; s < t_.spatial().size(); ++s) {
      if (s == t_.columns()) continue;
      bool is_split = t_.rows() == s || std::ranges::find(middle_, s) != middle_.end();
      outer.push_back(is_split ? LevelKey(t_.Key(s), 0) : t_.Key(s));
    }
    return outer;
  }

  // Vectorizes the reader. Its operands are in memory, so that register tiles would gain nothing.
  void FillReader(const LoopRef& columns) {
    t_.state.Do(Split{columns, {t_.lanes()}});
    t_.state.Do(Vectorize{LevelKey(columns, 1)});
  }

  RegisterTiling t_;
  std::string step_;            // the block of a step's sums
  size_t axis_ = 0;             // the block's variable that is cut into steps
  std::vector<size_t> middle_;  // into spatial(): further axes inside a step
};

// Tiles a long reduction in steps of its longest axis: all register tiles run one step before the
// next, whose operands meanwhile stay in caches (limits.h).
//
//   parallel (columns.0, others.0, rows.0) { results = 0
//     r.0 { columns.1 { others.1 { rows.1 {
//       r.1...  rows.2 columns.2 columns.3: tile += ...
//       results += tile } } } }
//     the consumer of the results, if there is one }
//
// A tile has sums of its own for each step (RFactorTile), which are added to results in memory. It
// could also load the results before a step and store them after it, but that needs an
// initialisation that reads, which no step makes; RFactor alone would keep the results of all steps
// until the end. Sums per step also round in shorter chains.
//
// `tiling` is untouched, has rows and is not columnwise. With `copies`, non-constant operands are
// copied into panels, one step's part at a time.
SketchState TileInSteps(RegisterTiling tiling, bool copies) {
  return SteppedTile(std::move(tiling)).Build(copies);
}

// Returns whether other tiles reuse some operand: steps of the reduction bring these uses closer
// together.
bool GainsBySteps(const RegisterTiling& tiling) {
  return tiling.rows() && !tiling.is_columnwise() && HasReuse(tiling.block()) &&
         TermsOf(tiling.block()) >= kMinSteppedTerms;
}

// Returns whether a panel is used up faster than the next one is fetched: by the step a thread has
// its first data sooner, and asks for less in vain at the end.
bool StreamsPanels(const RegisterTiling& tiling) {
  return AllRows(tiling) <= kMaxStreamRows && TermsOf(tiling.block()) >= kMinStreamTerms &&
         GainsByPrefetch(tiling, kMinStreamTerms);
}

// Returns whether summing all terms in one chain would round too often.
bool LosesByOneChain(const RegisterTiling& tiling) {
  return !HasWindow(tiling.block()) && TermsOf(tiling.block()) >= kLongChain;
}

}  // namespace

std::vector<SketchState> TileForRegisters(const SketchState& state, const Block& block,
                                          const Target& target) {
  const RegisterTiling tiling(state, block, target);
  bool has_rows = tiling.rows().has_value();
  std::vector<SketchState> forks = {TileWhole(tiling, {}).state};
  if (has_rows) forks.push_back(TileWhole(tiling, {.order = TileOrder::kRowsOutside}).state);
  WholeTile ahead = TileWhole(tiling, {.order = TileOrder::kPanelsAhead});
  if (ahead.prefetches) forks.push_back(std::move(ahead.state));
  WholeTile copying = TileWhole(tiling, {.panels = Panels::kOfAll});
  switch (copying.gain) {
    case PanelGain::kNone:
      break;
    case PanelGain::kStrides:
      forks.push_back(std::move(copying.state));
      break;
    case PanelGain::kGathers: {
      // One fork that gathers is enough.
      forks.erase(forks.begin() + 1, forks.end());
      forks.insert(forks.begin(), std::move(copying.state));
      TileChoice rows_outside{.order = TileOrder::kRowsOutside, .panels = Panels::kOfAll};
      if (has_rows) forks.insert(forks.begin() + 1, TileWhole(tiling, rows_outside).state);
      break;
    }
  }
  if (GainsBySteps(tiling)) {
    bool copies = copying.gain != PanelGain::kNone;
    bool is_first = LosesByOneChain(tiling) || StreamsPanels(tiling);
    forks.insert(is_first ? forks.begin() : forks.end(), TileInSteps(tiling, copies));
  }
  return forks;
}

}  // namespace tcc
