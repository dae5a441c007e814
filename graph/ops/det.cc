#include "graph/ops/lowerings.h"

namespace tcc {
namespace {

// An elimination with pivots in a batch of n x n matrices, two stages a column: the row of its
// largest entry, then the matrix that is left below.
class Elimination {
 public:
  // Expects the shape of the batch, then n twice.
  Elimination(NodeLowering& node, int64_t n, std::vector<Expr> shape)
      : node_(node),
        n_(n),
        computed_(AccumulationType(node.Type(0))),
        shape_(std::move(shape)),
        batch_(shape_.begin(), shape_.end() - 2) {}

  // Finds the row and the pivot of column k in what the columns before it have left.
  void ChoosePivot(int64_t k);
  // Clears column k below its pivot, in the entries that later columns read.
  void Clear(int64_t k);
  // Stores the determinants: the products of the pivots, each negated by an exchange of rows.
  void StoreProduct(const StoredBuffer& out);

 private:
  // Returns an entry that the columns before `column` have left.
  Expr Entry(int64_t column, const std::vector<Expr>& where, const Expr& i, const Expr& j);
  // Returns the row that column k exchanges with row k.
  Expr PivotRow(int64_t k, const std::vector<Expr>& where);

  NodeLowering& node_;
  int64_t n_;
  DType computed_;
  std::vector<Expr> shape_;
  std::vector<Expr> batch_;
  StoredBuffer matrices_[2];        // what an odd column and an even one read
  std::vector<StoredBuffer> rows_;  // by column: the lowest row of the largest entry
  std::vector<StoredBuffer> pivots_;
};

Expr Elimination::Entry(int64_t column, const std::vector<Expr>& where, const Expr& i,
                        const Expr& j) {
  std::vector<Expr> place = where;
  place.push_back(i);
  place.push_back(j);
  return column == 0 ? CastTo(computed_, node_.Load(0, place))
                     : node_.Load(matrices_[column % 2], place);
}

// No entry is larger than none where all are NaN.
Expr Elimination::PivotRow(int64_t k, const std::vector<Expr>& where) {
  return MinOf(MaxOf(node_.Load(rows_[static_cast<size_t>(k)], where), Expr(k)), Expr(n_ - 1));
}

void Elimination::ChoosePivot(int64_t k) {
  StoredBuffer size = node_.Intermediate(fmt::format("size{}", k), computed_, batch_);
  StoredBuffer row = node_.Intermediate(fmt::format("row{}", k), kInt64, batch_);
  rows_.push_back(row);
  std::vector<Axis> axes = node_.Axes(batch_);
  Axis i = NodeLowering::MakeAxis("r", Expr(n_ - k));
  Expr candidate = Plus(i.var, k);
  Expr value = Entry(k, VarsOf(axes), candidate, Expr(k));
  node_.Reduce({.outputs = {size, row},
                .axes = axes,
                .reduce_axes = {i},
                .combiner = ArgMaxCombiner(computed_, TieBreak::kFirst),
                .values = {CallOf(ScalarOp::kAbs, {value}), candidate},
                .suffix = fmt::format("_row{}", k)});
  StoredBuffer pivot = node_.Intermediate(fmt::format("pivot{}", k), computed_, batch_);
  pivots_.push_back(pivot);
  axes = node_.Axes(batch_);
  Expr chosen = PivotRow(k, VarsOf(axes));
  Expr signed_pivot = Entry(k, VarsOf(axes), chosen, Expr(k));
  Expr exchanged = Expr(k) < chosen;
  node_.Map(pivot, axes, SelectOf(exchanged, Const(computed_, 0) - signed_pivot, signed_pivot),
            fmt::format("_pivot{}", k));
}

void Elimination::Clear(int64_t k) {
  size_t target = (k + 1) % 2;
  if (k < 2) {
    matrices_[target] = node_.Intermediate(target == 0 ? "even" : "odd", computed_, shape_);
  }
  std::vector<Expr> rest = batch_;
  rest.emplace_back(n_ - k - 1);
  rest.emplace_back(n_ - k - 1);
  std::vector<Axis> axes = node_.Axes(rest);
  std::vector<Expr> vars = VarsOf(axes);
  std::vector<Expr> where(vars.begin(), vars.end() - 2);
  Expr to_row = Plus(vars[vars.size() - 2], k + 1);
  Expr column = Plus(vars.back(), k + 1);
  Expr chosen = PivotRow(k, where);
  Expr from_row = SelectOf(Make<Eq>(to_row, chosen), Expr(k), to_row);
  Expr divisor = Entry(k, where, chosen, Expr(k));
  Expr zero = Const(computed_, 0);
  Expr factor = SelectOf(Make<Eq>(divisor, zero), zero,
                         Make<Div>(Entry(k, where, from_row, Expr(k)), divisor));
  Expr left = Entry(k, where, from_row, column) - factor * Entry(k, where, chosen, column);
  std::vector<Expr> indices = where;
  indices.push_back(to_row);
  indices.push_back(column);
  node_.MapAt(matrices_[target], axes, indices, left, fmt::format("_column{}", k));
}

void Elimination::StoreProduct(const StoredBuffer& out) {
  std::vector<Axis> axes = node_.Axes(batch_);
  Expr product = Const(computed_, 1);
  for (const StoredBuffer& pivot : pivots_) product = product * node_.Load(pivot, VarsOf(axes));
  node_.Map(out, axes, CastTo(node_.Type(0), product));
}

}  // namespace

Status LowerDet(NodeLowering& node) {
  TCC_RETURN_IF_ERROR(node.CheckInputs(1, 1));
  std::vector<Expr> shape = node.Shape(0);
  DType type = node.Type(0);
  if (shape.size() < 2 || !type.is_float() ||
      !node.Agree(shape[shape.size() - 2], shape.back(), "numbers of rows and columns").ok()) {
    return node.Error("{} of {}; expected square matrices of floats", node.InputText(0),
                      ToString(type));
  }
  // Each column is two loop nests of one kernel.
  constexpr int64_t kMaxColumns = 64;
  TCC_ASSIGN_OR_RETURN(int64_t n, node.KnownExtent(0, shape.size() - 1));
  if (n > kMaxColumns) {
    return node.NotSupported("matrices of {} columns; expected {} at most", n, kMaxColumns);
  }
  StoredBuffer out = node.Output(0, type, std::vector<Expr>(shape.begin(), shape.end() - 2));
  Elimination elimination(node, n, shape);
  for (int64_t k = 0; k < n; ++k) {
    elimination.ChoosePivot(k);
    if (k + 1 < n) elimination.Clear(k);
  }
  elimination.StoreProduct(out);
  return OkStatus();
}

}  // namespace tcc
