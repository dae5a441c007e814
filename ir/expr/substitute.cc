#include "ir/expr/substitute.h"

#include "ir/expr/visitor.h"

namespace tcc {
namespace {

class Substituter final : public Mutator {
 public:
  explicit Substituter(const Substitution& values) : values_(values) {}

 private:
  using Mutator::Rewrite;
  Expr Rewrite(const VarNode& var) override {
    auto found = values_.find(Var(var));
    if (found == values_.end()) return var;
    TCC_CHECK(found->second.dtype() == var.dtype) << var.name;
    return found->second;
  }

  const Substitution& values_;
};

Var FreshCopy(const Var& var) {
  Expr copy = Make<VarNode>(var->name, var->role, var->dtype, var->low, var->high, var->usual);
  return Var(copy.as<VarNode>());
}

}  // namespace

Expr Substitute(const Expr& expr, const Substitution& values) {
  return values.empty() ? expr : Substituter(values).Mutate(expr);
}
Expr Substitute(const Expr& expr, const Var& var, const Expr& value) {
  return Substitute(expr, Substitution{{var, value}});
}
Stmt Substitute(const Stmt& stmt, const Substitution& values) {
  return values.empty() ? stmt : Substituter(values).Mutate(stmt);
}
Stmt Substitute(const Stmt& stmt, const Var& var, const Expr& value) {
  return Substitute(stmt, Substitution{{var, value}});
}

Function Substitute(const Function& fn, const Substitution& values) {
  Function result = Substituter(values).Mutate(fn);
  std::erase_if(result.vars, [&](const Var& var) { return values.contains(var); });
  return result;
}

Stmt WithFreshVars(const Stmt& stmt) {
  Substitution fresh;
  PreOrder(stmt, [&](const Stmt& s) {
    if (const auto* loop = s.as<For>()) fresh.emplace(loop->var, FreshCopy(loop->var));
    if (const auto* let = s.as<Let>()) fresh.emplace(let->var, FreshCopy(let->var));
    if (const auto* allocate = s.as<Allocate>()) {
      fresh.emplace(allocate->buffer.var, FreshCopy(allocate->buffer.var));
    }
    if (const auto* block = s.as<Block>()) {
      for (const IterVar& iter : block->iters) fresh.emplace(iter.var, FreshCopy(iter.var));
    }
  });
  return Substitute(stmt, fresh);
}

}  // namespace tcc
