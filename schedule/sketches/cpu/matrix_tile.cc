#include <algorithm>

#include "ir/analysis/accesses.h"
#include "ir/expr/visitor.h"
#include "ir/simplify/simplify.h"
#include "schedule/analysis/guard.h"
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
#include "schedule/steps/transform_layout.h"
#include "support/integer_division.h"
#include "support/word_tile.h"

namespace tcc {
namespace {

// A block's variables by the parts that they play.
struct MatrixAxes {
  size_t row = 0, column = 0, word = 0;
  int weight_word = 0;  // the dimension of the weight that the words are
  const char* intrinsic = nullptr;
};

const char* IntrinsicFor(ScalarOp op, int64_t tile) {
  const bool small = tile == kMmlaTile;
  if (op == ScalarOp::kDotU8I8x4) return small ? "mmla_u8i8_2x2x8" : "tile_dot_u8i8x4";
  if (op == ScalarOp::kDotI8I8x4) return small ? "mmla_i8_2x2x8" : nullptr;
  return op == ScalarOp::kDotBf16x2 && !small ? "tile_dot_bf16x2" : nullptr;
}

bool UsesIter(const Load& load, const IterVar& iter) {
  return std::ranges::any_of(load.indices,
                             [&](const Expr& index) { return UsesVar(index, iter.var); });
}

std::optional<MatrixAxes> FindAxes(const Block& block, int64_t tile) {
  const auto* reduce = block.body.as<Reduce>();
  const auto* dot = reduce && reduce->inputs.size() == 1 ? reduce->inputs[0].as<Call>() : nullptr;
  MatrixAxes axes{.intrinsic = dot ? IntrinsicFor(dot->op, tile) : nullptr};
  if (!axes.intrinsic) return std::nullopt;
  const auto* data = dot->args[0].as<Load>();
  const auto* weight = dot->args[1].as<Load>();
  if (!data || !weight || !HasKnownExtents(block)) return std::nullopt;
  auto whole = [&](size_t i) { return ExtentOf(block, i) % tile == 0; };
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
  auto is_word = [&](const Expr& index) { return index.same_as(block.iters[*word].var); };
  auto dim = std::ranges::find_if(weight->indices, is_word);
  if (dim == weight->indices.end()) return std::nullopt;
  axes.weight_word = static_cast<int>(dim - weight->indices.begin());
  return axes;
}

std::string SumsOf(const Function& fn, const std::string& block) {
  return WritesOf(*BlockAt(FindBlock(fn, block).value()))[0].buffer->name;
}

// The numbers of tiles along an axis whose sums are in registers at once.
struct InTurn {
  int64_t start = 1, most = 1;  // to start from, in a search
};

// A way of using the target's tiles.
struct TileForm {
  int64_t edge = 0;
  InTurn rows, columns;
  int64_t reader_lanes = 0;  // of what reads the sums
  bool in_vectors = false;   // sums and operands are vector registers
};

// Returns the vectors that are loaded or multiplied for all sums of a step, where `rows` x
// `columns` sums are in registers at once. Tiles behind the last row or column are branched over.
double MmlaCost(int64_t rows, int64_t columns, int64_t all_rows, int64_t all_columns) {
  const auto computed = static_cast<double>(CeilDivision(all_rows, rows) * rows *
                                            CeilDivision(all_columns, columns) * columns);
  const auto sums = static_cast<double>(rows * columns);
  const double branches = all_rows % rows == 0 && all_columns % columns == 0 ? 1 : 1.5;
  return computed * (sums + static_cast<double>(rows + columns) + 1) / sums * branches;
}

// Returns the rows and columns of sums that cost least.
std::pair<int64_t, int64_t> ChooseMmlaTile(int64_t all_rows, int64_t all_columns,
                                           const Target& target) {
  std::pair<int64_t, int64_t> best = {1, 1};
  double least = MmlaCost(1, 1, all_rows, all_columns);
  for (int64_t rows = 1; rows <= std::min(all_rows, kMaxMmlaInTurn); ++rows) {
    for (int64_t columns = 1; columns <= std::min(all_columns, kMaxMmlaInTurn); ++columns) {
      // One operand stays, the other is loaded for each product.
      if (rows * columns + std::min(rows, columns) + 1 > target.vector_registers) continue;
      const double cost = MmlaCost(rows, columns, all_rows, all_columns);
      if (cost >= least) continue;
      best = {rows, columns};
      least = cost;
    }
  }
  return best;
}

TileForm FormOf(int64_t edge, const Block& block, const MatrixAxes& axes, const Target& target) {
  const int64_t rows = ExtentOf(block, axes.row) / edge;
  const int64_t columns = ExtentOf(block, axes.column) / edge;
  if (edge == kAmxTile) {
    auto in_turn = [](int64_t tiles) {
      return InTurn{std::min(tiles, kAmxTilesInTurn), kAmxTilesInTurn};
    };
    return {edge, in_turn(rows), in_turn(columns), edge, false};
  }
  const auto [row_start, column_start] = ChooseMmlaTile(rows, columns, target);
  return {edge,
          {row_start, std::min(rows, kMaxMmlaInTurn)},
          {column_start, std::min(columns, kMaxMmlaInTurn)},
          edge * edge,
          true};
}

// The outer one of a piece's two loops over tiles: its columns, so that a panel of the weight is
// used for all its rows, or its rows.
enum class Outside : uint8_t { kColumns, kRows };

class MatrixTile {
 public:
  MatrixTile(const SketchState& state, const Block& block, const MatrixAxes& axes,
             const TileForm& form)
      : state_(Prepacked(state, block)), block_(block), axes_(axes), form_(form) {}

  std::optional<SketchState> Build(Outside outside) && {
    ResultReader reader = KeepResultLocal(state_, block_);
    std::vector<LoopRef> outer = SplitLoops(outside);
    if (form_.in_vectors && panels_.empty()) return std::nullopt;
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
                 state_.Try(Tensorize{LevelKey(Row(), 3), axes_.intrinsic}) &&
                 (!form_.in_vectors || LayOutSums());
    if (!legal) return std::nullopt;
    state_.Do(Unroll{LevelKey(Row(), 2)});
    state_.Do(Unroll{LevelKey(Column(), 2)});
    FillInit();
    FillReader(reader);
    if (form_.in_vectors) state_.Do(Partition{LevelKey(Row(), 1)});
    PrefetchPanels(outside, reduce.back());
    RunInParallel(state_, block_, outer);
    return std::move(state_);
  }

 private:
  LoopRef Key(size_t iter) const { return BaseKey(block_.name, block_.iters[iter]); }
  LoopRef Row() const { return Key(axes_.row); }
  LoopRef Column() const { return Key(axes_.column); }
  LoopRef Word() const { return Key(axes_.word); }
  int64_t Tiles(size_t iter) const { return ExtentOf(block_, iter) / form_.edge; }
  // Returns the place of a spatial variable among those.
  size_t PlaceOf(size_t iter) const {
    std::vector<size_t> spatial = ItersOf(block_, IterKind::kSpatial);
    return static_cast<size_t>(std::ranges::find(spatial, iter) - spatial.begin());
  }

  // Returns the loops over pieces. Each has all tiles of the axis that is inside.
  std::vector<LoopRef> SplitLoops(Outside outside) {
    const Expr edge(form_.edge);
    Expr columns = state_.Size(LevelKey(Column(), 2), form_.columns.most, {}, form_.columns.start);
    Expr rows = state_.Size(LevelKey(Row(), 2), form_.rows.most, {}, form_.rows.start);
    int64_t panels = CeilDivision(Tiles(axes_.column), form_.columns.start);
    int64_t blocks = CeilDivision(Tiles(axes_.row), form_.rows.start);
    bool by_columns = outside == Outside::kColumns;
    Expr panels_in_turn = state_.Size(LevelKey(Column(), 1), panels, {}, by_columns ? 1 : panels);
    Expr blocks_in_turn = state_.Size(LevelKey(Row(), 1), blocks, {}, by_columns ? blocks : 1);
    state_.Do(Split{Column(), {panels_in_turn, columns, edge}});
    state_.Do(Split{Row(), {blocks_in_turn, rows, edge}});
    state_.Do(Split{Word(), {edge}});
    PackWeight(columns);
    if (form_.in_vectors) LayOutData(rows * edge);
    std::vector<LoopRef> outer = {LevelKey(Column(), 0)};
    for (size_t i : ItersOf(block_, IterKind::kSpatial)) {
      if (i != axes_.column) outer.push_back(i == axes_.row ? LevelKey(Row(), 0) : Key(i));
    }
    return outer;
  }

  void PackWeight(const Expr& columns) {
    for (const PanelOperand& operand : ConstantOperands(state_.fn(), block_, axes_.column)) {
      std::optional<BlockFactor> words;
      if (form_.in_vectors) {
        words = BlockFactor{axes_.weight_word, Expr(form_.edge)};
      } else if (!IsWorthPacking(operand, form_.columns.most * form_.edge)) {
        continue;
      }
      for (const Step& step :
           PackingSteps(operand, block_.name, columns, Expr(form_.edge), panels_, words)) {
        state_.Do(step);
      }
    }
    for (const std::string& panel : panels_) state_.MarkDone(panel);
  }

  // Stores the words of a tile of the data together if its rows are neighbours: in panels of rows,
  // or all rows that a window slides over.
  void LayOutData(const Expr& rows) {
    const auto* dot = block_.body.as<Reduce>()->inputs[0].as<Call>();
    const auto* data = dot->args[0].as<Load>();
    const Var& row = block_.iters[axes_.row].var;
    TransformLayout step{data->buffer->name, {}, {}};
    std::vector<int64_t> row_dims;
    const auto word_dim = static_cast<int64_t>(data->indices.size()) - 1;
    for (int64_t d = 0; d < word_dim; ++d) {
      (UsesVar(data->indices[d], row) ? row_dims : step.order).push_back(d);
    }
    const Expr& index = data->indices[row_dims[0]];
    const bool are_neighbours = row_dims.size() == 1 && !UsesVar(Simplify(index - row), row);
    if (!are_neighbours) return;
    step.blocks.push_back({static_cast<int>(word_dim), Expr(form_.edge)});
    if (index.same_as(row)) {
      step.blocks.push_back({static_cast<int>(row_dims[0]), rows});
      step.order.insert(step.order.end(), {row_dims[0], word_dim, word_dim + 2, word_dim + 1});
    } else {
      step.order.insert(step.order.end(), {word_dim, row_dims[0], word_dim + 1});
    }
    state_.Try(step);
  }

  // Stores the sums of a tile, one vector, together.
  bool LayOutSums() {
    const Buffer sums = BufferNamed(state_.fn(), SumsOf(state_.fn(), block_.name)).value();
    const auto rank = static_cast<int64_t>(sums.rank());
    TransformLayout step{sums.var->name, {}, {}};
    for (int64_t dim = 0; dim < rank + 2; ++dim) step.order.push_back(dim);
    for (size_t iter : {axes_.row, axes_.column}) {
      step.blocks.push_back({static_cast<int>(PlaceOf(iter)), Expr(form_.edge)});
    }
    return state_.Try(step);
  }

  void FillInit() {
    const std::string init = block_.name + ".init";
    const LoopRef columns = Rekeyed(Column(), init), rows = Rekeyed(Row(), init);
    state_.Do(Vectorize{LevelKey(columns, 3)});
    if (!form_.in_vectors) return;
    for (const LoopRef& loop : {LevelKey(rows, 2), LevelKey(rows, 3), LevelKey(columns, 2)}) {
      state_.Do(Unroll{loop});
    }
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
    if (form_.in_vectors) state_.Do(Unroll{reader.loops[PlaceOf(axes_.row)]});
    const LoopRef& columns = reader.loops[PlaceOf(axes_.column)];
    state_.Do(Split{columns, {Expr(form_.reader_lanes)}});
    state_.Do(Unroll{LevelKey(columns, 0)});
    state_.Do(Vectorize{LevelKey(columns, 1)});
  }

  // Prefetches the next panel of the weight where enough blocks of rows use one meanwhile.
  void PrefetchPanels(Outside outside, const LoopRef& at) {
    if (outside == Outside::kRows ||
        Tiles(axes_.column) < kMinPrefetchedPanels * form_.columns.most)
      return;
    for (const std::string& panel : panels_) {
      state_.Try(Prefetch{block_.name, panel, LevelKey(Column(), 0), at, Expr(1)});
    }
  }

  SketchState state_;
  const Block& block_;
  const MatrixAxes axes_;
  const TileForm form_;
  std::vector<std::string> panels_;  // the packed copies of the weight
};

}  // namespace

std::vector<SketchState> TileForMatrices(const SketchState& state, const Block& block,
                                         const Target& target) {
  const int64_t edge = WordTileOf(target);
  std::optional<MatrixAxes> axes = FindAxes(block, edge);
  if (!axes) return {};
  const TileForm form = FormOf(edge, block, *axes, target);
  std::vector<SketchState> forks;
  for (Outside outside : {Outside::kColumns, Outside::kRows}) {
    if (auto fork = MatrixTile(state, block, *axes, form).Build(outside))
      forks.push_back(*std::move(fork));
  }
  // Splits work by columns if that keeps all threads busy and the weight is the larger operand,
  // else by rows.
  int64_t rows = 1;
  for (size_t i : ItersOf(block, IterKind::kSpatial)) {
    if (i != axes->column) rows *= ExtentOf(block, i);
  }
  int64_t panels = ExtentOf(block, axes->column) / edge / form.columns.most;
  bool by_rows = rows > ExtentOf(block, axes->column) || panels < kParallelPieces;
  if (by_rows && forks.size() == 2) std::swap(forks[0], forks[1]);
  return forks;
}

}  // namespace tcc
