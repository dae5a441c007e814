#include "ir/simplify/simplify.h"

#include <algorithm>

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

}  // namespace

Expr Simplify(const Expr& expr, const Bounds& bounds) {
  // Terms are ordered by the first occurrence of their variables. Dropping a term may change that
  // order, so the result is simplified again until its order is the one it was made with. Each
  // round settles at least one more variable.
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
  return Equal(a, b) || IsConstant(Simplify(a - b), 0);
}

}  // namespace tcc
