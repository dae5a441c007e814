#include <absl/container/flat_hash_map.h>

#include <algorithm>
#include <unordered_set>

#include "ir/expr/compare.h"
#include "ir/expr/visitor.h"
#include "lower/passes/passes.h"

namespace tcc {
namespace {

bool IsShape(const Expr& expr) {
  const auto* var = expr.as<VarNode>();
  return var && var->role == VarRole::kShape;
}

// Returns the divisor of a scalar division; null for anything else.
Expr DivisorOf(const Expr& expr) {
  if (expr.dtype() != kInt64) return {};
  if (const auto* div = expr.as<FloorDiv>()) return div->b;
  if (const auto* div = expr.as<CeilDiv>()) return div->b;
  const auto* mod = expr.as<FloorMod>();
  return mod ? mod->b : Expr();
}

class Namer final : public Mutator {
 public:
  Function Run(const Function& fn) {
    known_.insert(fn.vars.begin(), fn.vars.end());
    Function result = fn;
    result.body = Named(fn.body);
    return result;
  }

 private:
  using Mutator::Rewrite;
  using Names = absl::flat_hash_map<Expr, Var, ExprHash, ExprEqual>;

  struct Division {
    Expr expr;
    Var name;
    Expr value;  // with the names of others
  };

  // Names the divisions in `body` that the known variables decide, and rewrites it.
  Stmt Named(const Stmt& body) {
    std::vector<Division> divisions;
    PreOrderExprs(body, [&](const Expr& expr) { NameIn(expr, divisions); });
    ForgetRewritten();
    Stmt result = Mutate(body);
    ForgetRewritten();
    for (size_t i = divisions.size(); i-- > 0;) {
      result = MakeStmt<Let>(divisions[i].name, divisions[i].value, result);
      names_.erase(divisions[i].expr);
    }
    return result;
  }

  void NameIn(const Expr& expr, std::vector<Division>& divisions) {
    Expr divisor = DivisorOf(expr);
    if (!divisor || names_.contains(expr) || !Contains(divisor, IsShape) || !IsKnown(expr)) return;
    // Operands come first: the value has their names.
    ForEachChild(expr, [&](const Expr& child) {
      PreOrder(child, [&](const Expr& inner) { NameIn(inner, divisions); });
    });
    ForgetRewritten();
    Var name = LoopVar("q" + std::to_string(count_++));
    divisions.push_back({expr, name, Mutate(expr)});
    names_.emplace(expr, name);
  }

  bool IsKnown(const Expr& expr) const {
    return !HasLoad(expr) &&
           std::ranges::all_of(VarsOf(expr), [&](const Var& var) { return known_.contains(var); });
  }

  Stmt Rewrite(const For& loop) override {
    Expr extent = Mutate(loop.extent);
    known_.insert(loop.var);
    Stmt body = Named(loop.body);
    known_.erase(loop.var);
    return MakeStmt<For>(loop.var, extent, loop.for_kind, loop.key, body);
  }

  Stmt Rewrite(const Let& let) override {
    Expr value = Mutate(let.value);
    known_.insert(let.var);
    Stmt body = Named(let.body);
    known_.erase(let.var);
    return MakeStmt<Let>(let.var, value, body);
  }

  template <typename Division>
  Expr NameOf(const Division& division) {
    auto name = names_.find(Expr(division));
    return name == names_.end() ? RewriteChildren(division) : Expr(name->second);
  }
  Expr Rewrite(const FloorDiv& division) override { return NameOf(division); }
  Expr Rewrite(const CeilDiv& division) override { return NameOf(division); }
  Expr Rewrite(const FloorMod& division) override { return NameOf(division); }

  std::unordered_set<Var, VarHash> known_;  // the shapes, and what is bound around
  Names names_;
  int count_ = 0;
};

}  // namespace

Function NameDivisions(const Function& fn) {
  bool has_shapes = std::ranges::any_of(fn.vars, [](const Var& var) { return IsShape(var); });
  return has_shapes ? Namer().Run(fn) : fn;
}

}  // namespace tcc
