#include "ir/simplify/simplify.h"
#include "lower/passes/loop_bounds.h"
#include "lower/passes/passes.h"

namespace tcc {
namespace {

class Resolver final : public BoundedMutator {
 public:
  explicit Resolver(Bounds around) : BoundedMutator(std::move(around)) {}

 private:
  using BoundedMutator::Rewrite;

  // Simplifies `condition`: drops the terms that always hold, and returns 0 if one always fails.
  Expr Resolve(const Expr& condition) {
    if (condition.dtype().lanes() > 1) return condition;
    Expr left;
    for (const Expr& term : ConjunctsOf(condition)) {
      Proof proof = Decide(term, bounds());
      if (proof == Proof::kFalse) return IntConst(kBool, 0);
      if (proof == Proof::kTrue) continue;
      left = left ? BothOf(left, term) : term;
    }
    return left ? left : True();
  }

  Stmt Rewrite(const If& branch) override {
    Expr condition = Resolve(Mutate(branch.condition));
    Stmt otherwise = branch.else_body ? Mutate(branch.else_body) : Stmt();
    if (IsConstant(condition, 0)) return otherwise ? otherwise : Nothing();
    Stmt then = Mutate(branch.then_body);
    if (IsConstant(condition, 1)) return then;
    if (IsNothing(then) && IsNothing(otherwise)) return Nothing();
    bool same = condition.same_as(branch.condition) && then.same_as(branch.then_body) &&
                otherwise.same_as(branch.else_body);
    if (same) return branch;
    return MakeStmt<If>(condition, then, otherwise);
  }

  Expr Rewrite(const Select& select) override {
    Expr condition = Resolve(Mutate(select.condition));
    if (IsConstant(condition, 1)) return Mutate(select.then_value);
    if (IsConstant(condition, 0)) return Mutate(select.else_value);
    return Make<Select>(condition, Mutate(select.then_value), Mutate(select.else_value));
  }

  Stmt Rewrite(const Seq& seq) override {
    std::vector<Stmt> stmts;
    bool same = true;
    for (const Stmt& stmt : seq.stmts) {
      stmts.push_back(Mutate(stmt));
      same = same && stmts.back().same_as(stmt);
    }
    return same ? Stmt(seq) : SeqOf(stmts);
  }

  Stmt RewriteLoop(const For& loop) override {
    ForgetRewritten();
    Stmt body = Mutate(loop.body);
    ForgetRewritten();
    if (IsNothing(body)) return body;
    if (body.same_as(loop.body)) return loop;
    return MakeStmt<For>(loop.var, loop.extent, loop.for_kind, loop.key, body);
  }
};

}  // namespace

Stmt ResolveConditions(const Stmt& stmt, const Bounds& bounds) {
  return Resolver(bounds).Mutate(stmt);
}

Function ResolveConditions(const Function& fn) {
  Function result = fn;
  result.body = ResolveConditions(fn.body, {});
  return result;
}

}  // namespace tcc
