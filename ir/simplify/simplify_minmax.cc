#include <algorithm>

#include "ir/simplify/simplifier.h"

// Flattens nested minima (maxima) into one set of operands and drops the dominated ones.
namespace tcc {
namespace {

void AppendOperands(ExprKind kind, const Expr& expr, std::vector<Expr>& operands) {
  if (expr.kind() != kind) {
    operands.push_back(expr);
    return;
  }
  const auto* min = expr.as<Min>();
  const auto* max = expr.as<Max>();
  AppendOperands(kind, min ? min->a : max->a, operands);
  AppendOperands(kind, min ? min->b : max->b, operands);
}

Expr Combine(ExprKind kind, const Expr& a, const Expr& b) {
  return kind == ExprKind::kMin ? MinOf(a, b) : MaxOf(a, b);
}

}  // namespace

Polynomial Simplifier::MinOrMax(ExprKind kind, const Polynomial& a, const Polynomial& b) {
  std::vector<Expr> operands;
  AppendOperands(kind, Render(a), operands);
  AppendOperands(kind, Render(b), operands);

  // Returns whether `x` makes `y` superfluous: x <= y for a minimum.
  auto decides = [&](const Expr& x, const Expr& y) {
    Polynomial px = ToPolynomial(x), py = ToPolynomial(y);
    std::optional<Polynomial> excess =
        kind == ExprKind::kMin ? Difference(py, px, atoms_) : Difference(px, py, atoms_);
    return excess && BoundsOfPolynomial(*excess).low >= 0;
  };
  std::vector<Expr> kept;
  for (const Expr& operand : operands) {
    bool superfluous =
        std::ranges::any_of(kept, [&](const Expr& other) { return decides(other, operand); });
    if (superfluous) continue;
    std::erase_if(kept, [&](const Expr& other) { return decides(operand, other); });
    kept.push_back(operand);
  }

  // Apply absorption and similar rules, pair by pair.
  for (size_t i = 0; i < kept.size(); ++i) {
    for (size_t j = i + 1; j < kept.size(); ++j) {
      std::optional<Expr> merged = ApplyRules(Combine(kind, kept[i], kept[j]));
      if (!merged) continue;
      kept[i] = *merged;
      kept.erase(kept.begin() + j);
      Expr rest = kept[0];
      for (size_t k = 1; k < kept.size(); ++k) rest = Combine(kind, rest, kept[k]);
      return ToPolynomial(rest);
    }
  }

  if (kept.size() == 1) return ToPolynomial(kept[0]);
  // Constants come first in the canonical order but read best last.
  std::ranges::sort(kept, [&](const Expr& x, const Expr& y) {
    bool x_last = AsConstant(x).has_value(), y_last = AsConstant(y).has_value();
    return x_last != y_last ? y_last : order_.Compare(x, y) < 0;
  });
  Expr result = kept[0];
  for (size_t k = 1; k < kept.size(); ++k) result = Combine(kind, result, kept[k]);
  return AtomOf(result);
}

}  // namespace tcc
