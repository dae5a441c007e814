#include "lower/passes/loop_bounds.h"

#include <algorithm>

#include "ir/simplify/simplify.h"

namespace tcc {
namespace {

bool UsesShape(const Expr& expr) {
  return Contains(expr, [](const Expr& e) {
    const auto* var = e.as<VarNode>();
    return var && var->role == VarRole::kShape;
  });
}

enum class End : uint8_t { kLeast, kMost };

End Other(End end) {
  return end == End::kLeast ? End::kMost : End::kLeast;
}

// Bounds expressions over loop variables by expressions over Shape variables.
class SymbolicBounds {
 public:
  SymbolicBounds(const Substitution& extents, const Bounds& bounds)
      : extents_(extents), bounds_(bounds) {}

  // Returns a value that `expr` is never below (kLeast) or above (kMost); null: it knows none.
  Expr Of(const Expr& expr, End end) const {
    return VisitExpr(
        expr,
        Overloaded{
            [&](const VarNode& var) { return OfVar(var, end); },
            [&](const IntImm& imm) -> Expr { return imm; },
            [&](const Add& add) { return Both<Add>(Of(add.a, end), Of(add.b, end)); },
            [&](const Sub& sub) { return Both<Sub>(Of(sub.a, end), Of(sub.b, Other(end))); },
            [&](const Mul& mul) {
              return IsSize(mul.b) ? Scaled(mul.a, mul.b, end) : Scaled(mul.b, mul.a, end);
            },
            [&](const FloorDiv& div) { return Both<FloorDiv>(Of(div.a, end), Divisor(div.b)); },
            [&](const CeilDiv& div) { return Both<CeilDiv>(Of(div.a, end), Divisor(div.b)); },
            [&](const FloorMod& mod) -> Expr {
              if (!Divisor(mod.b)) return {};
              return end == End::kLeast ? Expr(0) : mod.b - Expr(1);
            },
            [&](const Min& min) { return Both<Min>(Of(min.a, end), Of(min.b, end)); },
            [&](const Max& max) { return Both<Max>(Of(max.a, end), Of(max.b, end)); },
            [](const auto&) { return Expr(); },
        });
  }

 private:
  template <typename Op>
  static Expr Both(const Expr& a, const Expr& b) {
    return a && b ? Make<Op>(a, b) : Expr();
  }

  Expr OfVar(const VarNode& var, End end) const {
    if (var.role == VarRole::kShape) return var;
    auto extent = extents_.find(Var(var));
    if (extent == extents_.end()) return OfThread(Var(&var), end);
    if (end == End::kLeast) return Expr(0);
    return Both<Sub>(Of(extent->second, end), Expr(1));
  }

  // Thread indices have numbers for bounds.
  Expr OfThread(const Var& var, End end) const {
    auto range = bounds_.find(var);
    if (range == bounds_.end()) return {};
    const auto& [low, high] = range->second;
    if (low == INT64_MIN || high == INT64_MAX) return {};
    return end == End::kLeast ? Expr(low) : Expr(high);
  }

  // Returns whether no variable but Shape variables occurs.
  static bool IsSize(const Expr& expr) {
    return std::ranges::all_of(VarsOf(expr),
                               [](const Var& var) { return var->role == VarRole::kShape; });
  }

  Expr Scaled(const Expr& expr, const Expr& size, End end) const {
    if (!IsSize(size)) return {};
    Interval factor = BoundsOf(size, bounds_);
    if (factor.low >= 0) return Both<Mul>(Of(expr, end), size);
    if (factor.high <= 0) return Both<Mul>(Of(expr, Other(end)), size);
    return {};
  }

  Expr Divisor(const Expr& expr) const {
    return IsSize(expr) && BoundsOf(expr, bounds_).low >= 1 ? expr : Expr();
  }

  const Substitution& extents_;
  const Bounds& bounds_;
};

}  // namespace

Interval RangeOf(const For& loop, const Bounds& bounds) {
  int64_t high = BoundsOf(loop.extent, bounds).high;
  return {0, high == INT64_MAX ? high : std::max<int64_t>(high - 1, 0)};
}

// Inside a threadIdx loop that rebinds an axis, the variable further out has the same value: the
// inner extent says which threads are there.
Stmt BoundedMutator::Rewrite(const For& loop) {
  Interval range = RangeOf(loop, bounds_);
  std::vector<std::pair<Var, Interval>> outer;
  if (IsThreadIdx(loop.for_kind)) {
    for (const For* other : threads_) {
      if (other->for_kind != loop.for_kind) continue;
      outer.emplace_back(other->var, bounds_[other->var]);
      bounds_[other->var] = range;
    }
    threads_.push_back(&loop);
  }
  bounds_[loop.var] = range;
  if (!IsThreadIdx(loop.for_kind)) extents_.emplace(loop.var, loop.extent);
  Stmt result = RewriteLoop(loop);
  extents_.erase(loop.var);
  bounds_.erase(loop.var);
  if (IsThreadIdx(loop.for_kind)) threads_.pop_back();
  for (const auto& [var, before] : outer) bounds_[var] = before;
  return result;
}

Proof BoundedMutator::ProveInLoops(const Expr& condition) const {
  Proof by_ranges = Prove(condition, bounds_);
  if (by_ranges != Proof::kUnknown || !UsesShape(condition)) return by_ranges;
  // a < b where the most that a - b may be is below 0.
  const auto* less = condition.as<Lt>();
  const auto* at_most = condition.as<Le>();
  if (!less && !at_most) return by_ranges;
  const Expr& a = less ? less->a : at_most->a;
  if (a.dtype() != kInt64) return by_ranges;
  Expr difference = Simplify(a - (less ? less->b : at_most->b), bounds_);
  Expr most = SymbolicBounds(extents_, bounds_).Of(difference, End::kMost);
  if (!most) return by_ranges;
  bool holds = BoundsOf(Simplify(most), {}).high < (less ? 0 : 1);
  return holds ? Proof::kTrue : by_ranges;
}

}  // namespace tcc
