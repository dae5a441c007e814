#include "ir/expr/compare.h"
#include "ir/simplify/simplify.h"
#include "lower/passes/loop_bounds.h"
#include "lower/passes/passes.h"

namespace tcc {
namespace {

// A sum without its number; null: the number is all there is.
struct Sum {
  Expr rest;
  int64_t number = 0;
};

Sum SumOf(const Expr& expr) {
  if (std::optional<int64_t> number = AsConstant(expr)) return {Expr(), *number};
  if (const auto* add = expr.as<Add>()) {
    if (std::optional<int64_t> number = AsConstant(add->b)) return {add->a, *number};
  }
  if (const auto* sub = expr.as<Sub>()) {
    if (std::optional<int64_t> number = AsConstant(sub->b)) return {sub->a, -*number};
  }
  return {expr};
}

// A term of integers as left - right < limit.
struct Comparison {
  Expr left;
  Expr right;
  int64_t limit = 0;
};

std::optional<Comparison> ComparisonOf(const Expr& term) {
  const auto* less = term.as<Lt>();
  const auto* at_most = term.as<Le>();
  if (!less && !at_most) return std::nullopt;
  const Expr& a = less ? less->a : at_most->a;
  if (a.dtype() != kInt64) return std::nullopt;
  Sum left = SumOf(a), right = SumOf(less ? less->b : at_most->b);
  return Comparison{left.rest, right.rest, right.number - left.number + (less ? 0 : 1)};
}

// The terms that hold or fail in the branches around a statement.
class KnownTerms {
 public:
  size_t size() const { return known_.size(); }
  void Forget(size_t size) { known_.resize(size); }

  // Notes that all terms of the condition hold, or that its single term fails.
  void Add(const Expr& condition, bool holds) {
    if (condition.dtype().lanes() > 1 || HasLoad(condition)) return;
    std::vector<Expr> terms = ConjunctsOf(condition);
    if (!holds && terms.size() > 1) return;
    for (const Expr& term : terms) known_.push_back({term, ComparisonOf(term), holds});
  }

  Proof Decide(const Expr& term) const {
    std::optional<Comparison> asked = known_.empty() ? std::nullopt : ComparisonOf(term);
    for (const Known& known : known_) {
      if (Equal(known.term, term)) return known.holds ? Proof::kTrue : Proof::kFalse;
      if (!asked || !known.comparison || !SameSides(*asked, *known.comparison)) continue;
      if (known.holds && asked->limit >= known.comparison->limit) return Proof::kTrue;
      if (!known.holds && asked->limit <= known.comparison->limit) return Proof::kFalse;
    }
    return Proof::kUnknown;
  }

 private:
  struct Known {
    Expr term;
    std::optional<Comparison> comparison;
    bool holds;
  };

  static bool SameSide(const Expr& a, const Expr& b) { return a && b ? Equal(a, b) : !a && !b; }
  static bool SameSides(const Comparison& a, const Comparison& b) {
    return SameSide(a.left, b.left) && SameSide(a.right, b.right);
  }

  std::vector<Known> known_;
};

class Resolver final : public BoundedMutator {
 public:
  enum class By : uint8_t { kBounds, kBoundsAndBranches };
  Resolver(Bounds around, By by) : BoundedMutator(std::move(around)), by_(by) {}

 private:
  using BoundedMutator::Rewrite;

  // Simplifies `condition`: drops the terms that always hold, and returns 0 if one always fails.
  Expr Resolve(const Expr& condition) {
    if (condition.dtype().lanes() > 1) return condition;
    Expr left;
    for (const Expr& term : ConjunctsOf(condition)) {
      Proof proof = Decide(term, bounds());
      if (proof == Proof::kUnknown) proof = known_.Decide(term);
      if (proof == Proof::kFalse) return IntConst(kBool, 0);
      if (proof == Proof::kTrue) continue;
      left = left ? BothOf(left, term) : term;
    }
    return left ? left : True();
  }

  // Rewrites a branch, where the condition holds or fails.
  Stmt Where(const Expr& condition, bool holds, const Stmt& stmt) {
    if (by_ == By::kBounds) return Mutate(stmt);
    const size_t outside = known_.size();
    known_.Add(condition, holds);
    ForgetRewritten();
    Stmt result = Mutate(stmt);
    known_.Forget(outside);
    ForgetRewritten();
    return result;
  }

  Stmt Rewrite(const If& branch) override {
    Expr condition = Resolve(Mutate(branch.condition));
    Stmt otherwise = branch.else_body ? Where(condition, false, branch.else_body) : Stmt();
    if (IsConstant(condition, 0)) return otherwise ? otherwise : Nothing();
    Stmt then = Where(condition, true, branch.then_body);
    if (IsConstant(condition, 1)) return then;
    if (IsNothing(then) && IsNothing(otherwise)) return Nothing();
    bool same = condition.same_as(branch.condition) && then.same_as(branch.then_body) &&
                otherwise.same_as(branch.else_body);
    if (same) return branch;
    return MakeStmt<If>(condition, then, otherwise);
  }

  Stmt Rewrite(const AsyncCopy& copy) override {
    Stmt result = RewriteChildren(copy);
    if (!copy.keep) return result;
    const auto& inner = *result.as<AsyncCopy>();
    Expr keep = Resolve(inner.keep);
    if (Equal(keep, inner.keep)) return result;
    if (IsConstant(keep, 1)) keep = {};
    return MakeStmt<AsyncCopy>(inner.destination, inner.source, inner.count, keep);
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

  By by_;
  KnownTerms known_;
};

}  // namespace

Stmt ResolveConditions(const Stmt& stmt, const Bounds& bounds) {
  return Resolver(bounds, Resolver::By::kBounds).Mutate(stmt);
}

Stmt ResolveBranches(const Stmt& stmt) {
  return Resolver({}, Resolver::By::kBoundsAndBranches).Mutate(stmt);
}

Function ResolveConditions(const Function& fn) {
  using By = Resolver::By;
  Function result = fn;
  result.body =
      Resolver({}, fn.vars.empty() ? By::kBounds : By::kBoundsAndBranches).Mutate(fn.body);
  return result;
}

}  // namespace tcc
