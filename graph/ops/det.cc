#include "graph/ops/lowerings.h"

namespace tcc {

// By elimination with pivots, two stages a column: the row of its largest entry, then the matrix
// that is left below. The product of the pivots is the determinant but for the sign, which changes
// with each exchange of rows.
Status LowerDet(NodeLowering& node) {
  TCC_RETURN_IF_ERROR(node.CheckInputs(1, 1));
  std::vector<Expr> shape = node.Shape(0);
  std::optional<int64_t> n = shape.size() < 2 ? std::nullopt : AsConstant(shape.back());
  DType type = node.Type(0);
  if (!n || !SameExtent(shape[shape.size() - 2], shape.back()) || !type.is_float()) {
    return node.Error("{} of {}; expected square matrices of floats", node.InputText(0),
                      ToString(type));
  }
  // Each column is two loop nests of one kernel.
  constexpr int64_t kMaxColumns = 64;
  if (*n > kMaxColumns) {
    return node.NotSupported("matrices of {} columns; expected {} at most", *n, kMaxColumns);
  }
  DType computed = AccumulationType(type);
  std::vector<Expr> batch(shape.begin(), shape.end() - 2);
  StoredBuffer out = node.Output(0, type, batch);
  StoredBuffer matrices[2];
  std::vector<Expr> factors;  // the pivots with their signs, of the last stage's axes
  std::vector<StoredBuffer> pivots;

  auto entry = [&](int64_t column, const std::vector<Expr>& where, const Expr& i, const Expr& j) {
    std::vector<Expr> place = where;
    place.push_back(i);
    place.push_back(j);
    return column == 0 ? CastTo(computed, node.Load(0, place))
                       : node.Load(matrices[column % 2], place);
  };
  for (int64_t k = 0; k < *n; ++k) {
    // (size, row): the lowest row of the largest entry at or below the diagonal.
    StoredBuffer size = node.Intermediate(fmt::format("size{}", k), computed, batch);
    StoredBuffer row = node.Intermediate(fmt::format("row{}", k), kInt64, batch);
    std::vector<Axis> axes = node.Axes(batch);
    Axis i = NodeLowering::MakeAxis("r", Expr(*n - k));
    Expr candidate = Plus(i.var, k);
    Expr value = entry(k, VarsOf(axes), candidate, Expr(k));
    node.Reduce({.outputs = {size, row},
                 .axes = axes,
                 .reduce_axes = {i},
                 .combiner = ArgMaxCombiner(computed, TieBreak::kFirst),
                 .values = {CallOf(ScalarOp::kAbs, {value}), candidate},
                 .suffix = fmt::format("_row{}", k)});
    auto pivot_row = [&, row](const std::vector<Expr>& where) {
      // No entry is larger than none where all are NaN.
      return MinOf(MaxOf(node.Load(row, where), Expr(k)), Expr(*n - 1));
    };
    StoredBuffer pivot = node.Intermediate(fmt::format("pivot{}", k), computed, batch);
    axes = node.Axes(batch);
    Expr chosen = pivot_row(VarsOf(axes));
    Expr signed_pivot = entry(k, VarsOf(axes), chosen, Expr(k));
    Expr exchanged = Expr(k) < chosen;
    node.Map(pivot, axes, SelectOf(exchanged, Const(computed, 0) - signed_pivot, signed_pivot),
             fmt::format("_pivot{}", k));
    pivots.push_back(pivot);
    if (k + 1 == *n) break;

    size_t target = (k + 1) % 2;
    if (k < 2) {
      matrices[target] = node.Intermediate(target == 0 ? "even" : "odd", computed, shape);
    }
    std::vector<Expr> rest = batch;
    rest.emplace_back(*n - k - 1);
    rest.emplace_back(*n - k - 1);
    axes = node.Axes(rest);
    std::vector<Expr> vars = VarsOf(axes);
    std::vector<Expr> where(vars.begin(), vars.end() - 2);
    Expr to_row = Plus(vars[vars.size() - 2], k + 1);
    Expr column = Plus(vars.back(), k + 1);
    chosen = pivot_row(where);
    Expr from_row = SelectOf(Make<Eq>(to_row, chosen), Expr(k), to_row);
    Expr divisor = entry(k, where, chosen, Expr(k));
    Expr zero = Const(computed, 0);
    Expr factor = SelectOf(Make<Eq>(divisor, zero), zero,
                           Make<Div>(entry(k, where, from_row, Expr(k)), divisor));
    Expr left = entry(k, where, from_row, column) - factor * entry(k, where, chosen, column);
    std::vector<Expr> indices = where;
    indices.push_back(to_row);
    indices.push_back(column);
    node.MapAt(matrices[target], axes, indices, left, fmt::format("_column{}", k));
  }

  std::vector<Axis> axes = node.Axes(batch);
  Expr product = Const(computed, 1);
  for (const StoredBuffer& pivot : pivots) product = product * node.Load(pivot, VarsOf(axes));
  node.Map(out, axes, CastTo(type, product));
  return OkStatus();
}

}  // namespace tcc
