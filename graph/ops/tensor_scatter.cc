#include "graph/ops/lowerings.h"

namespace tcc {
namespace {

// Rows of an update that replace rows of a cache along an axis, from a row of their own in each
// sample on.
struct WrittenRows {
  int axis = 0;
  int64_t count = 0;   // of the update
  int64_t extent = 0;  // of the cache
  bool wraps = false;  // behind the last row of the cache comes its first

  bool FitFrom(int64_t start) const { return wraps || (start >= 0 && start <= extent - count); }
};

StatusOr<WrittenRows> RowsOf(const NodeLowering& node) {
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
    fits = static_cast<int>(d) == rows.axis || SameExtent(cache[d], update[d]);
  }
  if (!fits) {
    return node.Error("update is {} {} and the cache {} {}; expected the same but for axis {}",
                      ToString(node.Type(1)), ShapeText(update), ToString(node.Type(0)),
                      ShapeText(cache), rows.axis);
  }
  std::optional<int64_t> count = AsConstant(update[rows.axis]);
  std::optional<int64_t> extent = AsConstant(cache[rows.axis]);
  if (!count || !extent) {
    return node.NotSupported("update {} and cache {}; expected known extents of axis {}",
                             ShapeText(update), ShapeText(cache), rows.axis);
  }
  if (*count > *extent) {
    return node.Error("update has {} rows; the cache has {}", *count, *extent);
  }
  rows.count = *count;
  rows.extent = *extent;
  return rows;
}

Status CheckStarts(const NodeLowering& node, const WrittenRows& rows) {
  if (!node.Has(2)) return OkStatus();
  const std::vector<Expr>& starts = node.Shape(2);
  bool fits = starts.size() == 1 && SameExtent(starts[0], node.Shape(0)[0]);
  if (!fits || !node.Type(2).is_integer()) {
    return node.Error("write_indices is {} {}; expected an integer for each of {} samples",
                      ToString(node.Type(2)), ShapeText(starts), ShapeText({node.Shape(0)[0]}));
  }
  const Tensor* constant = node.Constant(2);
  int64_t samples = constant ? ElementCount(constant->shape).value() : 0;
  for (int64_t i = 0; i < samples; ++i) {
    int64_t start = ElementAsInt(*constant, i);
    if (!rows.FitFrom(start)) {
      return node.Error("{} rows from {} on are not all in a cache of {}", rows.count, start,
                        rows.extent);
    }
  }
  return OkStatus();
}

// Returns the row of the cache that the first row of the update replaces.
Expr StartOf(NodeLowering& node, const WrittenRows& rows, const Expr& sample) {
  if (!node.Has(2)) return Expr(0);
  Expr start = CastTo(kInt64, node.Load(2, {sample}));
  if (rows.wraps) return FloorModulo(start, Expr(rows.extent));
  // No row fits further out, and the difference to a place cannot overflow.
  return MaxOf(MinOf(start, Expr(rows.extent)), Expr(-rows.count));
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
  if (rows.count == 0) {
    node.Map(out, axes, kept);
    return OkStatus();
  }
  Expr row = place[rows.axis] - StartOf(node, rows, place[0]);
  if (rows.wraps) row = SelectOf(row < Expr(0), row + Expr(rows.extent), row);
  Expr is_written = BothOf(row >= Expr(0), row < Expr(rows.count));
  place[rows.axis] = MaxOf(MinOf(row, Expr(rows.count - 1)), Expr(0));
  node.Map(out, axes, SelectOf(is_written, node.Load(1, place), kept));
  return OkStatus();
}

}  // namespace tcc
