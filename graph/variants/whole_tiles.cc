#include <algorithm>

#include "graph/variants/stage_parts.h"
#include "graph/variants/variants.h"
#include "ir/expr/combiner.h"
#include "ir/expr/visitor.h"
#include "ir/simplify/size_arithmetic.h"
#include "support/integer_division.h"
#include "support/word_tile.h"

namespace tcc {
namespace {

// A sum of dots of words, and its axes that become multiples of a tile.
struct TileProduct {
  size_t stage = 0;
  const Load* data = nullptr;
  const Load* weight = nullptr;
  Var row, column, word;
};

bool Uses(const Load& load, const Var& var) {
  return std::ranges::any_of(load.indices, [&](const Expr& index) { return UsesVar(index, var); });
}

bool IsIndex(const Load& load, const Var& var) {
  return std::ranges::any_of(load.indices, [&](const Expr& index) { return index.same_as(var); });
}

// Returns the share of the axis in tiles of it that are whole, at the usual sizes.
double Share(const Axis& axis, int64_t tile) {
  int64_t extent = UsualExtent(axis);
  return static_cast<double>(extent) / static_cast<double>(CeilDivision(extent, tile) * tile);
}

// Rows that are multiplied in turn by what was loaded of the weight, at least.
constexpr int64_t kMinRowsInTurn = 8;

// Returns the spatial axis that the weight lacks with the least rows in vain, the last of several.
const Axis* RowsOf(const ComputeExpr& stage, const TileProduct& product, int64_t tile) {
  const int64_t in_turn = std::max(tile, kMinRowsInTurn);
  const Axis* rows = nullptr;
  for (const Axis& axis : stage.axes) {
    if (Uses(*product.weight, axis.var) || !Uses(*product.data, axis.var)) continue;
    bool better = !rows || Share(axis, in_turn) >= Share(*rows, in_turn);
    if (better) rows = &axis;
  }
  return rows;
}

// Returns whether tiles of that edge have an instruction for the dot.
bool HasInstruction(ScalarOp dot, int64_t tile) {
  if (dot == ScalarOp::kDotU8I8x4) return true;
  return dot == (tile == kMmlaTile ? ScalarOp::kDotI8I8x4 : ScalarOp::kDotBf16x2);
}

std::optional<TileProduct> MatchStage(const ComputeExpr& stage, int64_t tile) {
  bool sums = stage.combiner && stage.values.size() == 1 && IsNeverEmpty(stage) &&
              stage.combiner.get() == SumCombiner(stage.outputs[0].dtype()).get() &&
              IsConstant(stage.predicate, 1) && !stage.axes.empty();
  const auto* dot = sums ? stage.values[0].as<Call>() : nullptr;
  if (!dot || !HasInstruction(dot->op, tile)) return std::nullopt;
  TileProduct product;
  product.data = dot->args[0].as<Load>();
  product.weight = dot->args[1].as<Load>();
  if (!product.data || !product.weight) return std::nullopt;
  product.column = stage.axes.back().var;
  // Neighbours along words and columns are neighbours in memory.
  bool fits = product.weight->indices.back().same_as(product.column) &&
              stage.indices[0].back().same_as(product.column) &&
              !Uses(*product.data, product.column);
  const auto* word = product.data->indices.back().as<VarNode>();
  if (!fits || !word) return std::nullopt;
  product.word = Var(word);
  bool is_reduced = std::ranges::any_of(stage.reduce_axes,
                                        [&](const Axis& axis) { return axis.var == product.word; });
  const Axis* rows = RowsOf(stage, product, tile);
  if (!is_reduced || !rows || !IsIndex(*product.weight, product.word)) return std::nullopt;
  product.row = rows->var;
  return product;
}

// The least share of the work that makes results. An instruction of ARM's does twice the work of a
// dot of vectors.
double MinShare(int64_t tile) {
  return tile == kMmlaTile ? 0.6 : 0.25;
}

bool IsWorthIt(const ComputeExpr& stage, const TileProduct& product, int64_t tile) {
  double share = 1;
  for (const auto* axes : {&stage.axes, &stage.reduce_axes}) {
    for (const Axis& axis : *axes) {
      bool grows =
          axis.var == product.row || axis.var == product.column || axis.var == product.word;
      if (grows) share *= Share(axis, tile);
    }
  }
  return share >= MinShare(tile);
}

// Cycles of a core that adds two vectors of 16 products in each: of bytes in quads, else of f32.
constexpr double kDotCycles = 16, kTileCycles = 150, kProductsOfVectors = 32;

double CyclesOfTiles(const ComputeExpr& stage, const TileProduct& product) {
  double tiles = 1, dots = 1;
  for (const Axis& axis : stage.axes) {
    bool is_tiled = axis.var == product.row || axis.var == product.column;
    tiles *= static_cast<double>(CeilDivision(UsualExtent(axis), is_tiled ? kAmxTile : 1));
  }
  for (const Axis& axis : stage.reduce_axes) {
    bool is_tiled = axis.var == product.word;
    dots *= static_cast<double>(CeilDivision(UsualExtent(axis), is_tiled ? kAmxTile : 1));
  }
  return tiles * (kTileCycles + dots * kDotCycles);
}

double CyclesOfVectors(const ComputeExpr& stage) {
  double products = stage.outputs[0].dtype() == kInt32 ? 1 : 2;
  for (const auto* axes : {&stage.axes, &stage.reduce_axes}) {
    for (const Axis& axis : *axes) products *= static_cast<double>(UsualExtent(axis));
  }
  return products / kProductsOfVectors;
}

std::optional<TileProduct> FindTileProduct(const TensorProgram& program, int64_t tile) {
  for (size_t s = 0; s < program.stages.size(); ++s) {
    const auto* stage = std::get_if<ComputeExpr>(&program.stages[s]);
    std::optional<TileProduct> product = stage ? MatchStage(*stage, tile) : std::nullopt;
    if (!product || !IsWorthIt(*stage, *product, tile)) continue;
    product->stage = s;
    return product;
  }
  return std::nullopt;
}

// Makes the dimensions and axes of a product's program multiples of a tile.
class TileProgram {
 public:
  TileProgram(const TensorProgram& program, const TileProduct& product, int64_t tile)
      : result_(program), product_(product), tile_(tile) {}

  std::optional<TensorProgram> Build() && {
    auto& stage = std::get<ComputeExpr>(result_.stages[product_.stage]);
    for (auto* axes : {&stage.axes, &stage.reduce_axes}) {
      for (Axis& axis : *axes) Grow(axis);
    }
    for (const Load* load : {product_.data, product_.weight}) {
      std::optional<std::vector<Expr>> shape = ShapeFor(*load);
      if (!shape || !GrowOperand(load->buffer, *shape)) return std::nullopt;
    }
    return GrowResult() ? std::optional(std::move(result_)) : std::nullopt;
  }

 private:
  ComputeExpr& Stage() { return std::get<ComputeExpr>(result_.stages[product_.stage]); }

  void Grow(Axis& axis) const {
    bool grows =
        axis.var == product_.row || axis.var == product_.column || axis.var == product_.word;
    if (grows) axis.extent = ProductOf(CeilQuotientOf(axis.extent, tile_), tile_);
  }

  // Returns the largest value of an index over the grown axes plus 1; nullopt if RangeOf has none.
  std::optional<Expr> EndOf(const Expr& index) {
    std::optional<IndexRange> range = RangeOf(Stage(), index);
    return range ? std::optional(SumOf(range->low, range->extent)) : std::nullopt;
  }

  // Returns the shape that the grown axes read of a buffer, at least its own.
  std::optional<std::vector<Expr>> ShapeFor(const Load& load) {
    std::vector<Expr> shape = FindBuffer(result_, load.buffer)->shape;
    for (size_t d = 0; d < load.indices.size(); ++d) {
      std::optional<Expr> end = EndOf(load.indices[d]);
      if (!end) return std::nullopt;
      if (!AlwaysHolds(*end <= shape[d])) shape[d] = LargerOf(shape[d], *end);
    }
    return shape;
  }

  Buffer* Intermediate(const Var& var) {
    auto found = std::ranges::find(result_.intermediates, var, &Buffer::var);
    return found == result_.intermediates.end() ? nullptr : &*found;
  }

  // Returns the map that alone writes the buffer, at its own axes in their order.
  ComputeExpr* MakerOf(const Var& var) {
    ComputeExpr* maker = nullptr;
    for (TensorExpr& expr : result_.stages) {
      auto* stage = std::get_if<ComputeExpr>(&expr);
      if (!stage) return nullptr;
      if (std::ranges::find(stage->outputs, var, &Buffer::var) == stage->outputs.end()) continue;
      bool is_map = !maker && !stage->combiner && stage->outputs.size() == 1 &&
                    stage->axes.size() == stage->indices[0].size();
      for (size_t d = 0; is_map && d < stage->axes.size(); ++d) {
        is_map = stage->indices[0][d].same_as(stage->axes[d].var);
      }
      if (!is_map) return nullptr;
      maker = stage;
    }
    return maker;
  }

  // Makes an operand so large, with zeros beyond what it was.
  bool GrowOperand(const Var& var, const std::vector<Expr>& shape) {
    Buffer* buffer = Intermediate(var);
    ComputeExpr* maker = buffer ? MakerOf(var) : nullptr;
    if (!maker) return false;
    Expr inside = True();
    for (size_t d = 0; d < shape.size(); ++d) {
      Axis& axis = maker->axes[d];
      if (!AlwaysHolds(shape[d] <= axis.extent)) {
        inside = BothOf(inside, Expr(axis.var) < axis.extent);
      }
      axis.extent = shape[d];
      buffer->shape[d] = axis.extent;
    }
    maker->outputs[0] = *buffer;
    Expr& value = maker->values[0];
    if (!IsConstant(inside, 1)) value = SelectOf(inside, value, Const(value.dtype(), 0));
    return true;
  }

  // Gives the product a result of its own that is large enough, from which an output is copied.
  // Returns false where EndOf returns nullopt.
  bool GrowResult() {
    Var result = Stage().outputs[0].var;
    std::vector<Expr> shape;
    for (const Expr& index : Stage().indices[0]) {
      std::optional<Expr> end = EndOf(index);
      if (!end) return false;
      shape.push_back(*end);
    }
    if (Buffer* buffer = Intermediate(result)) {
      buffer->shape = shape;
      Stage().outputs[0] = *buffer;
      return true;
    }
    Buffer sums = AddIntermediate(result_, Stage().name + "_tiles", result.dtype(), shape);
    ComputeExpr copy = StageOver(Stage().outputs[0]);
    copy.name = FreeName(result_, Stage().name + "_result");
    std::vector<Expr> places;
    for (const Axis& axis : copy.axes) places.emplace_back(axis.var);
    copy.values = {Make<Load>(sums.var, places)};
    Stage().outputs[0] = sums;
    auto after = result_.stages.begin() + static_cast<std::ptrdiff_t>(product_.stage) + 1;
    result_.stages.insert(after, copy);
    return true;
  }

  TensorProgram result_;
  const TileProduct& product_;
  const int64_t tile_;
};

}  // namespace

std::optional<TensorProgram> WholeTilesVariant(const TensorProgram& program, int64_t tile) {
  std::optional<TileProduct> product = FindTileProduct(program, tile);
  return product ? TileProgram(program, *product, tile).Build() : std::nullopt;
}

bool WholeTilesSaveTime(const TensorProgram& program) {
  std::optional<TileProduct> product = FindTileProduct(program, kAmxTile);
  if (!product) return false;
  const auto& stage = std::get<ComputeExpr>(program.stages[product->stage]);
  return CyclesOfTiles(stage, *product) < CyclesOfVectors(stage);
}

}  // namespace tcc
