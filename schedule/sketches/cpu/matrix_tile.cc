#include <algorithm>

#include "ir/analysis/accesses.h"
#include "ir/expr/visitor.h"
#include "schedule/analysis/loop_tree.h"
#include "schedule/analysis/reduction_nest.h"
#include "schedule/sketches/cpu/cpu_parts.h"
#include "schedule/sketches/cpu/cpu_rules.h"
#include "schedule/sketches/parts/block_pattern.h"
#include "schedule/sketches/parts/cpu_thresholds.h"
#include "schedule/sketches/parts/default_tiles.h"
#include "schedule/sketches/parts/operand_panels.h"
#include "schedule/sketches/parts/sketch_parts.h"
#include "schedule/steps/compute_at.h"
#include "schedule/steps/decompose_reduction.h"
#include "schedule/steps/loop_kind.h"
#include "schedule/steps/prefetch.h"
#include "schedule/steps/reorder.h"
#include "schedule/steps/split.h"
#include "schedule/steps/tensorize.h"
#include "support/integer_division.h"

namespace tcc {
namespace {

constexpr int64_t kTile = 16;  // rows, columns and words of AMX (tdpbusd, tdpbf16ps)

// A block's variables by the parts that they play.
struct MatrixAxes {
  size_t row = 0, column = 0, word = 0;
  const char* intrinsic = nullptr;
};

const char* IntrinsicFor(ScalarOp op) {
  if (op == ScalarOp::kDotU8I8x4) return "tile_dot_u8i8x4";
  return op == ScalarOp::kDotBf16x2 ? "tile_dot_bf16x2" : nullptr;
}

bool UsesIter(const Load& load, const IterVar& iter) {
  return std::ranges::any_of(load.indices,
                             [&](const Expr& index) { return UsesVar(index, iter.var); });
}

std::optional<MatrixAxes> FindAxes(const Block& block) {
  const auto* reduce = block.body.as<Reduce>();
  const auto* dot = reduce && reduce->inputs.size() == 1 ? reduce->inputs[0].as<Call>() : nullptr;
  MatrixAxes axes{.intrinsic = dot ? IntrinsicFor(dot->op) : nullptr};
  if (!axes.intrinsic) return std::nullopt;
  const auto* data = dot->args[0].as<Load>();
  const auto* weight = dot->args[1].as<Load>();
  if (!data || !weight || !HasKnownExtents(block)) return std::nullopt;
  auto whole = [&](size_t i) { return ExtentOf(block, i) % kTile == 0; };
  std::optional<size_t> row, column, word;
  for (size_t i = 0; i < block.iters.size(); ++i) {
    const IterVar& iter = block.iters[i];
    bool in_data = UsesIter(*data, iter), in_weight = UsesIter(*weight, iter);
    if (iter.kind == IterKind::kReduce) {
      if (data->indices.back().same_as(iter.var) && whole(i)) word = i;
    } else if (in_weight) {
      if (in_data) return std::nullopt;
      if (whole(i)) column = i;
    } else if (in_data && whole(i)) {
      row = i;
    }
  }
  if (!row || !column || !word) return std::nullopt;
  axes.row = *row;
  axes.column = *column;
  axes.word = *word;
  return axes;
}

// The outer one of a piece's two loops over tiles: its columns, so that a panel of the weight is
// used for all its rows, or its rows.
enum class Outside : uint8_t { kColumns, kRows };

class MatrixTile {
 public:
  MatrixTile(const SketchState& state, const Block& block, const MatrixAxes& axes)
      : state_(Prepacked(state, block)), block_(block), axes_(axes) {}

  std::optional<SketchState> Build(Outside outside) && {
    ResultReader reader = KeepResultLocal(state_, block_);
    std::vector<LoopRef> outer = SplitLoops(outside);
    std::vector<LoopRef> tiles = {LevelKey(Column(), 1), LevelKey(Row(), 1)};
    if (outside == Outside::kRows) std::swap(tiles[0], tiles[1]);
    std::vector<LoopRef> order = outer;
    order.insert(order.end(), tiles.begin(), tiles.end());
    std::vector<LoopRef> reduce = ReduceLoops();
    order.insert(order.end(), reduce.begin(), reduce.end());
    order.insert(order.end(), {LevelKey(Row(), 2), LevelKey(Column(), 2), LevelKey(Row(), 3),
                               LevelKey(Word(), 1), LevelKey(Column(), 3)});
    bool legal = state_.Try(Reorder{order}) &&
                 state_.Try(ReverseComputeAt{reader.block, tiles.back()}) &&
                 state_.Try(DecomposeReduction{block_.name, reduce[0]}) &&
                 state_.Try(Tensorize{LevelKey(Row(), 3), axes_.intrinsic});
    if (!legal) return std::nullopt;
    state_.Do(Unroll{LevelKey(Row(), 2)});
    state_.Do(Unroll{LevelKey(Column(), 2)});
    state_.Do(Vectorize{LevelKey(Rekeyed(Column(), block_.name + ".init"), 3)});
    FillReader(reader);
    PrefetchPanels(outside, reduce.back());
    RunInParallel(state_, block_, outer);
    return std::move(state_);
  }

 private:
  LoopRef Key(size_t iter) const { return BaseKey(block_.name, block_.iters[iter]); }
  LoopRef Row() const { return Key(axes_.row); }
  LoopRef Column() const { return Key(axes_.column); }
  LoopRef Word() const { return Key(axes_.word); }
  int64_t Tiles(size_t iter) const { return ExtentOf(block_, iter) / kTile; }

  // Returns the size of how many tiles have their sums in registers at once.
  Expr InTurn(const LoopRef& loop, int64_t tiles) {
    return state_.Size(loop, kAmxTilesInTurn, {}, std::min(tiles, kAmxTilesInTurn));
  }

  // Returns the loops over pieces. Each has all tiles of the axis that is inside.
  std::vector<LoopRef> SplitLoops(Outside outside) {
    Expr columns = InTurn(LevelKey(Column(), 2), Tiles(axes_.column));
    Expr rows = InTurn(LevelKey(Row(), 2), Tiles(axes_.row));
    int64_t panels = CeilDivision(Tiles(axes_.column), kAmxTilesInTurn);
    int64_t blocks = CeilDivision(Tiles(axes_.row), kAmxTilesInTurn);
    bool by_columns = outside == Outside::kColumns;
    Expr panels_in_turn = state_.Size(LevelKey(Column(), 1), panels, {}, by_columns ? 1 : panels);
    Expr blocks_in_turn = state_.Size(LevelKey(Row(), 1), blocks, {}, by_columns ? blocks : 1);
    state_.Do(Split{Column(), {panels_in_turn, columns, Expr(kTile)}});
    state_.Do(Split{Row(), {blocks_in_turn, rows, Expr(kTile)}});
    state_.Do(Split{Word(), {Expr(kTile)}});
    PackWeight(columns);
    std::vector<LoopRef> outer = {LevelKey(Column(), 0)};
    for (size_t i : ItersOf(block_, IterKind::kSpatial)) {
      if (i != axes_.column) outer.push_back(i == axes_.row ? LevelKey(Row(), 0) : Key(i));
    }
    return outer;
  }

  void PackWeight(const Expr& columns) {
    for (const PanelOperand& operand : ConstantOperands(state_.fn(), block_, axes_.column)) {
      if (!IsWorthPacking(operand, kAmxTilesInTurn * kTile)) continue;
      for (const Step& step : PackingSteps(operand, block_.name, columns, Expr(kTile), panels_)) {
        state_.Do(step);
      }
    }
    for (const std::string& panel : panels_) state_.MarkDone(panel);
  }

  // Returns the loops of the reduction outside of a tile, the words last.
  std::vector<LoopRef> ReduceLoops() const {
    std::vector<LoopRef> loops;
    for (size_t r : ItersOf(block_, IterKind::kReduce)) {
      if (r != axes_.word) loops.push_back(Key(r));
    }
    loops.push_back(LevelKey(Word(), 0));
    return loops;
  }

  void FillReader(const ResultReader& reader) {
    std::vector<size_t> spatial = ItersOf(block_, IterKind::kSpatial);
    auto place = std::ranges::find(spatial, axes_.column) - spatial.begin();
    const LoopRef& columns = reader.loops[static_cast<size_t>(place)];
    state_.Do(Split{columns, {Expr(kTile)}});
    state_.Do(Unroll{LevelKey(columns, 0)});
    state_.Do(Vectorize{LevelKey(columns, 1)});
  }

  // Prefetches the next panel of the weight where enough blocks of rows use one meanwhile.
  void PrefetchPanels(Outside outside, const LoopRef& at) {
    if (outside == Outside::kRows || Tiles(axes_.column) < kMinPrefetchedPanels * kAmxTilesInTurn)
      return;
    for (const std::string& panel : panels_) {
      state_.Try(Prefetch{block_.name, panel, LevelKey(Column(), 0), at, Expr(1)});
    }
  }

  SketchState state_;
  const Block& block_;
  const MatrixAxes axes_;
  std::vector<std::string> panels_;  // the packed copies of the weight
};

}  // namespace

std::vector<SketchState> TileForMatrices(const SketchState& state, const Block& block,
                                         const Target&) {
  std::optional<MatrixAxes> axes = FindAxes(block);
  if (!axes) return {};
  std::vector<SketchState> forks;
  for (Outside outside : {Outside::kColumns, Outside::kRows}) {
    if (auto fork = MatrixTile(state, block, *axes).Build(outside))
      forks.push_back(*std::move(fork));
  }
  // Splits work by columns if that keeps all threads busy and the weight is the larger operand,
  // else by rows.
  int64_t rows = 1;
  for (size_t i : ItersOf(block, IterKind::kSpatial)) {
    if (i != axes->column) rows *= ExtentOf(block, i);
  }
  int64_t panels = ExtentOf(block, axes->column) / kTile / kAmxTilesInTurn;
  bool by_rows = rows > ExtentOf(block, axes->column) || panels < kParallelPieces;
  if (by_rows && forks.size() == 2) std::swap(forks[0], forks[1]);
  return forks;
}

}  // namespace tcc
