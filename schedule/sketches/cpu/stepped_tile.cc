#include "schedule/sketches/cpu/stepped_tile.h"

#include <algorithm>

#include "ir/analysis/accesses.h"
#include "ir/expr/visitor.h"
#include "schedule/sketches/cpu/cpu_parts.h"
#include "schedule/sketches/parts/block_pattern.h"
#include "schedule/steps/compute_at.h"
#include "schedule/steps/loop_kind.h"
#include "schedule/steps/rfactor_tile.h"
#include "schedule/steps/split.h"
#include "support/integer_division.h"
#include "support/storage_types.h"

namespace tcc {
namespace {

// The fewest terms of a long reduction. Fewer are only a few steps that fill L1, and one pass over
// the results costs less than coming back to them.
constexpr int64_t kLongReduction = 1024;

// The number of terms after which a sum of random products in one chain has an error of about 1e-5
// of its deviation; in steps of some hundreds the error is a tenth of that.
constexpr int64_t kLongChain = 4096;

class SteppedTile {
 public:
  explicit SteppedTile(RegisterTiling tiling)
      : t_(std::move(tiling)), step_(t_.block().name + ".step") {
    const Block& block = t_.block();
    auto shorter = [&](size_t a, size_t b) { return ExtentOf(block, a) < ExtentOf(block, b); };
    axis_ = *std::max_element(t_.reduce().begin(), t_.reduce().end(), shorter);
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
    return std::any_of(reads.begin(), reads.end(), [&](const Access& read) {
      return std::none_of(read.indices.begin(), read.indices.end(),
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
      bool is_middle = std::find(middle_.begin(), middle_.end(), s) != middle_.end();
      pieces *= CeilDivision(t_.Extent(s), is_middle ? MiddleStart(s) : 1);
    }
    return pieces;
  }

  // Splits the axis into steps. Returns the reduction's loops within one step.
  std::vector<LoopRef> SplitReduction(const LoopRef& steps) {
    int64_t extent = ExtentOf(t_.block(), axis_);
    LoopRef inner = LevelKey(steps, 1);
    t_.state.Do(Split{steps, {t_.state.Size(inner, extent, {}, FirstStep())}});
    std::vector<LoopRef> reduce = KeysOf(t_.block(), t_.reduce());
    std::replace(reduce.begin(), reduce.end(), steps, inner);
    return reduce;
  }

  std::vector<LoopRef> OuterLoops() const {
    std::vector<LoopRef> outer = {LevelKey(t_.Key(t_.columns()), 0)};
    for (size_t s = 0; s < t_.spatial().size(); ++s) {
      if (s == t_.columns()) continue;
      bool is_split =
          t_.rows() == s || std::find(middle_.begin(), middle_.end(), s) != middle_.end();
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

}  // namespace

SketchState TileInSteps(RegisterTiling tiling, bool copies) {
  return SteppedTile(std::move(tiling)).Build(copies);
}

bool GainsBySteps(const RegisterTiling& tiling) {
  return tiling.rows() && !tiling.is_columnwise() && HasReuse(tiling.block()) &&
         TermsOf(tiling.block()) >= kLongReduction;
}

bool LosesByOneChain(const RegisterTiling& tiling) {
  return !HasWindow(tiling.block()) && TermsOf(tiling.block()) >= kLongChain;
}

}  // namespace tcc
