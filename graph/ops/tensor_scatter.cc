#include "graph/ops/lowerings.h"

namespace tcc {
namespace {

// Rows of an update that replace rows of a cache along an axis, from a row of their own in each
// sample on.
struct WrittenRows {
  int axis = 0;
  Expr count;          // of the update
  Expr extent;         // of the cache
  bool wraps = false;  // behind the last row of the cache comes its first
};

StatusOr<WrittenRows> RowsOf(NodeLowering& node) {
  const std::vector<Expr>& cache = node.Shape(0);
  const std::vector<Expr>& update = node.Shape(1);
  WrittenRows rows;
  TCC_ASSIGN_OR_RETURN(rows.axis, node.NormalizedAxis(node.node().Int("axis", -2), cache.size()));
  if (rows.axis == 0) return node.Error("axis is 0, the batch; expected another");
  std::string mode = node.node().String("mode", "linear");
  if (mode != "linear" && mode != "circular") {
    return node.Error("mode is '{}'; expected linear or circular", mode);
  }
  rows.wraps = mode == "circular";
  bool fits = update.size() == cache.size() && node.Type(1) == node.Type(0);
  for (size_t d = 0; fits && d < cache.size(); ++d) {
    fits = static_cast<int>(d) == rows.axis ||
           node.Agree(cache[d], update[d], "dimensions of cache and update").ok();
  }
  if (!fits) {
    return node.Error("update is {} {} and the cache {} {}; expected the same but for axis {}",
                      ToString(node.Type(1)), ShapeText(update), ToString(node.Type(0)),
                      ShapeText(cache), rows.axis);
  }
  rows.count = update[rows.axis];
  rows.extent = cache[rows.axis];
  if (!node.AgreeAtMost(rows.count, rows.extent, "rows of update and cache").ok()) {
    return node.Error("update has {} rows; the cache has {}", ShapeText({rows.count}),
                      ShapeText({rows.extent}));
  }
  return rows;
}

Status CheckStarts(NodeLowering& node, const WrittenRows& rows) {
  if (!node.Has(2)) return OkStatus();
  const std::vector<Expr>& starts = node.Shape(2);
  bool fits = starts.size() == 1 &&
              node.Agree(starts[0], node.Shape(0)[0], "numbers of starts and samples").ok();
  if (!fits || !node.Type(2).is_integer()) {
    return node.Error("write_indices is {} {}; expected an integer for each of {} samples",
                      ToString(node.Type(2)), ShapeText(starts), ShapeText({node.Shape(0)[0]}));
  }
  const Tensor* constant = node.Constant(2);
  int64_t samples = constant && !rows.wraps ? ElementCount(constant->shape).value() : 0;
  for (int64_t i = 0; i < samples; ++i) {
    int64_t start = ElementAsInt(*constant, i);
    Expr end = Plus(rows.count, start);
    if (start < 0 || !node.AgreeAtMost(end, rows.extent, "ends of update and cache").ok()) {
      return node.Error("{} rows from {} on are not all in a cache of {}", ShapeText({rows.count}),
                        start, ShapeText({rows.extent}));
    }
  }
  return OkStatus();
}

// Returns the row of the cache that the first row of the update replaces.
Expr StartOf(NodeLowering& node, const WrittenRows& rows, const Expr& sample) {
  if (!node.Has(2)) return Expr(0);
  Expr start = CastTo(kInt64, node.Load(2, {sample}));
  if (rows.wraps) return FloorModulo(start, rows.extent);
  // No row fits further out, and the difference to a place cannot overflow.
  return MaxOf(MinOf(start, rows.extent), Times(rows.count, -1));
}

}  // namespace

// out[b, .., p, ..] = update[b, .., r, ..] with r = p - start[b] where the update has such a row,
// else cache[b, .., p, ..]; r wraps around in circular mode.
Status LowerTensorScatter(NodeLowering& node) {
  TCC_RETURN_IF_ERROR(node.CheckInputs(2, 3));
  TCC_ASSIGN_OR_RETURN(WrittenRows rows, RowsOf(node));
  TCC_RETURN_IF_ERROR(CheckStarts(node, rows));
  const std::vector<Expr>& shape = node.Shape(0);
  StoredBuffer out = node.Output(0, node.Type(0), shape);
  std::vector<Axis> axes = node.Axes(shape);
  std::vector<Expr> place = VarsOf(axes);
  Expr kept = node.Load(0, place);
  if (IsConstant(rows.count, 0)) {
    node.Map(out, axes, kept);
    return OkStatus();
  }
  Expr row = place[rows.axis] - StartOf(node, rows, place[0]);
  if (rows.wraps) row = SelectOf(row < Expr(0), row + rows.extent, row);
  TCC_RETURN_IF_ERROR(node.AgreeAtMost(Expr(1), rows.count, "least rows and the update's"));
  Expr is_written = BothOf(row >= Expr(0), row < rows.count);
  place[rows.axis] = MaxOf(MinOf(row, Plus(rows.count, -1)), Expr(0));
  node.Map(out, axes, SelectOf(is_written, node.Load(1, place), kept));
  return OkStatus();
}

}  // namespace tcc
