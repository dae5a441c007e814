#include "ir/simplify/simplify.h"

#include <algorithm>

#include "ir/expr/evaluate.h"
#include "ir/expr/visitor.h"
#include "ir/simplify/simplifier.h"

namespace tcc {
namespace {

// Returns the free variables in order of first occurrence, buffers included.
std::vector<const ExprNode*> Occurring(const Expr& expr) {
  std::vector<const ExprNode*> vars;
  PreOrder(expr, [&](const Expr& e) {
    if (e.as<VarNode>()) vars.push_back(e.get());
  });
  return vars;
}

// Returns whether two i64 expressions have different values where their variables have some that
// their ranges allow. Most expressions that differ do so there, which is seen faster than by normal
// forms.
bool DifferAtPoint(const Expr& a, const Expr& b) {
  Assignment values;
  auto give = [&](const Expr& expr) {
    const auto* var = expr.as<VarNode>();
    if (!var || values.contains(Var(var))) return;
    bool ranged = var->role == VarRole::kTile || var->role == VarRole::kShape;
    auto value = static_cast<int64_t>(11 + 37 * values.size());
    values.emplace(Var(var), ranged ? var->low + std::min(value, var->high - var->low) : value);
  };
  PreOrder(a, give);
  PreOrder(b, give);
  std::optional<int64_t> left = EvaluateInt(a, values), right = EvaluateInt(b, values);
  return left && right && *left != *right;
}

}  // namespace

Expr Simplify(const Expr& expr, const Bounds& bounds) {
  // Terms are ordered by the first occurrence of their variables. Dropping a term may change that
  // order, so the result is simplified again until its order is the one it was made with. Each
  // round settles at least one more variable.
  if (expr.as<IntImm>()) return expr;
  Expr result = expr;
  std::vector<const ExprNode*> order = Occurring(expr);
  for (size_t round = 0; round <= order.size(); ++round) {
    Simplifier simplifier(bounds);
    for (const ExprNode* var : order) simplifier.Number(Var(static_cast<const VarNode*>(var)));
    result = simplifier.Run(result);
    std::vector<const ExprNode*> now = Occurring(result);
    std::erase_if(order,
                  [&](const ExprNode* var) { return std::ranges::find(now, var) == now.end(); });
    if (order == now) return result;
    order = std::move(now);
  }
  return result;
}

bool EqualUpToAlgebra(const Expr& a, const Expr& b) {
  if (Equal(a, b)) return true;
  return !DifferAtPoint(a, b) && IsConstant(Simplify(a - b), 0);
}

}  // namespace tcc
