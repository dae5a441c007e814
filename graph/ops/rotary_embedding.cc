#include "graph/ops/lowerings.h"

namespace tcc {
namespace {

enum Operand : size_t { kX, kCos, kSin, kPositions };

// x seen as [batch, heads, length, size], and a point of it.
struct Point {
  Expr batch;
  Expr position;
  Expr dim;  // within the head
};

Point PointOf(const std::vector<Expr>& at, int64_t size) {
  if (at.size() == 4) return {.batch = at[0], .position = at[2], .dim = at[3]};
  return {.batch = at[0], .position = at[1], .dim = FloorModulo(at[2], Expr(size))};
}

StatusOr<int64_t> HeadSize(const NodeLowering& node) {
  size_t rank = node.Rank(kX);
  if (rank != 3 && rank != 4) {
    return node.Error("{} has rank {}; expected rank 3 or 4", node.InputText(kX), rank);
  }
  TCC_ASSIGN_OR_RETURN(int64_t width, node.KnownExtent(kX, rank - 1));
  if (rank == 4) return width;
  int64_t heads = node.node().Int("num_heads", 0);
  // ONNX Runtime's operator need not say it where whole heads are rotated.
  std::optional<int64_t> pairs;
  if (node.Rank(kCos) > 0) pairs = AsConstant(node.Shape(kCos).back());
  bool from_table = heads == 0 && node.node().Int("rotary_embedding_dim", 0) == 0;
  if (from_table && pairs && *pairs > 0 && width % (2 * *pairs) == 0) return 2 * *pairs;
  if (heads < 1 || width % heads != 0) {
    return node.Error("num_heads is {}; expected a divisor of the width {}", heads, width);
  }
  return width / heads;
}

// Tables of one number for each rotated pair: [position, pair] with positions, else
// [batch, position, pair].
Status CheckTables(NodeLowering& node, int64_t pairs) {
  auto agree = [&](const Expr& a, const Expr& b, std::string_view what) {
    return node.Agree(a, b, what).ok();
  };
  size_t rank = node.Has(kPositions) ? 2 : 3;
  for (size_t table : {size_t{kCos}, size_t{kSin}}) {
    const std::vector<Expr>& shape = node.Shape(table);
    bool fits = shape.size() == rank && node.Type(table).is_float() &&
                agree(shape.back(), Expr(pairs), "pairs of a table and of the input");
    const std::vector<Expr>& x = node.Shape(kX);
    if (fits && rank == 3) {
      fits = agree(shape[0], x[0], "batches of input and table") &&
             agree(shape[1], x[x.size() - 2], "lengths of input and table");
    }
    if (fits && rank == 2) fits = !IsConstant(shape[0], 0);
    if (!fits) {
      return node.Error("input {} has shape {}; expected tables of rank {} for {} pairs", table,
                        ShapeText(shape), rank, pairs);
    }
  }
  if (!node.Has(kPositions)) return OkStatus();
  const std::vector<Expr>& positions = node.Shape(kPositions);
  const std::vector<Expr>& x = node.Shape(kX);
  auto spans = [&](const Expr& extent, const Expr& dim) {
    return IsConstant(extent, 1) || agree(extent, dim, "dimensions of positions and input");
  };
  bool first = positions.size() == 1 && IsConstant(positions[0], 1);
  bool each =
      positions.size() == 2 && spans(positions[0], x[0]) && spans(positions[1], x[x.size() - 2]);
  if ((each || first) && node.Type(kPositions).is_integer()) return OkStatus();
  return node.Error("positions have shape {}; expected integers of batch and length, or one",
                    ShapeText(positions));
}

// Positions outside the table are an error in ONNX; here they are clamped, so that no model reads
// outside its tensors.
Expr TableAt(NodeLowering& node, size_t table, const Point& point, const Expr& pair) {
  if (!node.Has(kPositions)) return node.Load(table, {point.batch, point.position, pair});
  bool first = node.Rank(kPositions) == 1;  // the position of the first element alone
  Expr row = first ? CastTo(kInt64, node.Load(kPositions, {Expr(0)})) + point.position
                   : CastTo(kInt64, node.LoadBroadcast(kPositions, {point.batch, point.position}));
  Expr last = Plus(node.Shape(table)[0], -1);
  return node.Load(table, {MaxOf(MinOf(row, last), Expr(0)), pair});
}

}  // namespace

// Pairs (a, b) of a head's first rotary_embedding_dim elements become
// (a cos - b sin, a sin + b cos); the rest stays. Pairs are neighbours if interleaved, else an
// element of the first half and one of the second.
Status LowerRotaryEmbedding(NodeLowering& node) {
  TCC_RETURN_IF_ERROR(node.CheckInputs(3, 4));
  DType type = node.Type(kX);
  TCC_RETURN_IF_ERROR(node.CheckFloats(kX));
  TCC_ASSIGN_OR_RETURN(int64_t size, HeadSize(node));
  int64_t rotated = node.node().Int("rotary_embedding_dim", 0);
  if (rotated == 0) rotated = size;
  if (rotated < 0 || rotated > size || rotated % 2 != 0) {
    return node.Error("{} of {} elements of a head are rotated; expected an even number", rotated,
                      size);
  }
  int64_t half = rotated / 2;
  TCC_RETURN_IF_ERROR(CheckTables(node, half));

  DType computed = AccumulationType(type);
  bool interleaved = node.node().Int("interleaved", 0) != 0;
  const std::vector<Expr>& shape = node.Shape(kX);
  StoredBuffer out = node.Output(0, type, shape);
  std::vector<Axis> axes = node.Axes(shape);
  std::vector<Expr> at = VarsOf(axes);
  Point point = PointOf(at, size);
  Expr second =
      interleaved ? Make<Eq>(FloorModulo(point.dim, Expr(2)), Expr(1)) : point.dim >= Expr(half);
  int64_t distance = interleaved ? 1 : half;
  Expr pair = interleaved ? FloorDivide(point.dim, Expr(2))
                          : SelectOf(second, Plus(point.dim, -half), point.dim);

  auto x_at = [&](int64_t offset) {
    std::vector<Expr> index = at;
    index.back() = Plus(index.back(), offset);
    return CastTo(computed, node.Load(kX, index));
  };
  Expr cosine = CastTo(computed, TableAt(node, kCos, point, pair));
  Expr sine = CastTo(computed, TableAt(node, kSin, point, pair));
  Expr value = SelectOf(second, x_at(-distance) * sine + x_at(0) * cosine,
                        x_at(0) * cosine - x_at(distance) * sine);
  if (rotated < size) value = SelectOf(point.dim < Expr(rotated), value, x_at(0));
  node.Map(out, axes, CastTo(type, value));
  return OkStatus();
}

}  // namespace tcc
