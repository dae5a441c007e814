#include <algorithm>

#include "ir/expr/operators.h"
#include "ir/expr/visitor.h"
#include "ir/simplify/simplifier.h"

// Flattens nested minima (maxima) into one set of operands and drops the dominated ones.
namespace tcc {

void AppendOperands(ExprKind kind, const Expr& expr, std::vector<Expr>& operands) {
  if (expr.kind() != kind) {
    operands.push_back(expr);
  } else {
    ForEachChild(expr, [&](const Expr& child) { AppendOperands(kind, child, operands); });
  }
}

bool MergeTwo(ExprKind kind, std::vector<Expr>& operands) {
  for (size_t i = 0; i < operands.size(); ++i) {
    for (size_t j = i + 1; j < operands.size(); ++j) {
      std::optional<Expr> merged = ApplyRules(MakeBinary(kind, operands[i], operands[j]));
      if (!merged) continue;
      operands[i] = *merged;
      operands.erase(operands.begin() + j);
      return true;
    }
  }
  return false;
}

Expr Joined(ExprKind kind, const std::vector<Expr>& operands) {
  Expr result = operands[0];
  for (size_t i = 1; i < operands.size(); ++i) result = MakeBinary(kind, result, operands[i]);
  return result;
}

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

  if (MergeTwo(kind, kept)) return ToPolynomial(Joined(kind, kept));
  if (kept.size() == 1) return ToPolynomial(kept[0]);
  // Constants come first in the canonical order but read best last.
  std::ranges::sort(kept, [&](const Expr& x, const Expr& y) {
    bool x_last = AsConstant(x).has_value(), y_last = AsConstant(y).has_value();
    return x_last != y_last ? y_last : order_.Compare(x, y) < 0;
  });
  return AtomOf(Joined(kind, kept));
}

}  // namespace tcc
