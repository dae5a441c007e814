#include "graph/ops/moments.h"

#include "graph/ops/reduction_axes.h"

namespace tcc {
namespace {

std::vector<Axis> ElementAxes(const std::vector<Expr>& inner) {
  std::vector<Axis> axes;
  for (size_t d = 0; d < inner.size(); ++d) {
    axes.push_back(NodeLowering::MakeAxis(fmt::format("r{}", d), inner[d]));
  }
  return axes;
}

// The quotient is needed for each element: a product where the count is known.
Expr Average(const Expr& sum, const std::vector<Expr>& inner) {
  std::optional<int64_t> count = AsConstant(Product(inner));
  if (!count || *count == 0) return Make<Div>(sum, CountAs(sum.dtype(), inner));
  return *count == 1 ? sum : sum * Const(sum.dtype(), 1 / static_cast<double>(*count));
}

using Term = std::function<Expr(const Expr& x, const std::vector<Expr>& row)>;

// The sum of a term of each element. A plain sum each: those are tiled, a tuple of sums is not.
StoredBuffer SumRows(NodeLowering& node, const Rows& rows, DType type, const std::string& name,
                     const Term& term) {
  std::vector<Axis> axes = node.Axes(rows.shape);
  std::vector<Axis> inner = ElementAxes(rows.inner);
  std::vector<Expr> row = VarsOf(axes);
  return node.Reduced(name, axes, inner, SumCombiner(type),
                      term(rows.element(row, VarsOf(inner)), row));
}

}  // namespace

Moments::Moments(NodeLowering& node, const Rows& rows, DType type)
    : node_(node), inner_(rows.inner) {
  sum_ = SumRows(node, rows, type, "sum", [](const Expr& x, const auto&) { return x; });
  auto difference = [this](const Expr& x, const std::vector<Expr>& row) { return x - Shift(row); };
  errors_ = SumRows(node, rows, type, "errors", difference);
  squares_ = SumRows(node, rows, type, "squares", [&](const Expr& x, const auto& row) {
    return difference(x, row) * difference(x, row);
  });
}

Expr Moments::Shift(const std::vector<Expr>& row) const {
  return Average(node_.Load(sum_, row), inner_);
}

Expr Moments::Error(const std::vector<Expr>& row) const {
  return Average(node_.Load(errors_, row), inner_);
}

Expr Moments::Mean(const std::vector<Expr>& row) const {
  return Shift(row) + Error(row);
}

Expr Moments::Variance(const std::vector<Expr>& row) const {
  Expr error = Error(row);
  Expr variance = Average(node_.Load(squares_, row), inner_) - error * error;
  return MaxOf(variance, Const(variance.dtype(), 0));
}

Expr Moments::Centered(const Expr& value, const std::vector<Expr>& row) const {
  return (value - Shift(row)) - Error(row);
}

MeanSquare::MeanSquare(NodeLowering& node, const Rows& rows, DType type)
    : node_(node), inner_(rows.inner) {
  sum_ = SumRows(node, rows, type, "squares", [](const Expr& x, const auto&) { return x * x; });
}

Expr MeanSquare::At(const std::vector<Expr>& row) const {
  return Average(node_.Load(sum_, row), inner_);
}

}  // namespace tcc
