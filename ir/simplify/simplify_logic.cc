#include <algorithm>
#include <numeric>

#include "ir/expr/constant_fold.h"
#include "ir/expr/visitor.h"
#include "ir/simplify/simplifier.h"

namespace tcc {
namespace {

bool IsIndex(const Expr& expr) {
  return expr.dtype() == kInt64;
}

// Returns whether an integer type holds every value of another.
bool Holds(DType type, DType other) {
  if (!type.is_integer()) return false;
  if (other.is_bool()) return true;
  if (!other.is_integer()) return false;
  if (type.is_signed_integer() == other.is_signed_integer()) return type.bits() >= other.bits();
  return type.is_signed_integer() && type.bits() > other.bits();
}

Expr RebuildCast(const Cast& cast, const Expr& value) {
  if (value.dtype() == cast.dtype) return value;
  // A cast through a wider type loses nothing.
  const auto* inner = value.as<Cast>();
  if (inner && Holds(inner->dtype, inner->value.dtype())) return CastTo(cast.dtype, inner->value);
  return CastTo(cast.dtype, value);
}

// Returns the greatest common divisor of the coefficients; 0 for a constant.
int64_t Content(const Polynomial& polynomial) {
  uint64_t content = 0;
  for (const Term& term : polynomial.terms) {
    int64_t c = term.coefficient;
    content = std::gcd(content, c < 0 ? -static_cast<uint64_t>(c) : static_cast<uint64_t>(c));
  }
  return static_cast<int64_t>(content & INT64_MAX);
}

Polynomial PositivePart(const Polynomial& polynomial) {
  Polynomial result;
  for (const Term& term : polynomial.terms) {
    if (term.coefficient > 0) result.terms.push_back(term);
  }
  return result;
}

Polynomial NegativePart(const Polynomial& polynomial) {
  Polynomial result;
  for (const Term& term : polynomial.terms) {
    if (term.coefficient < 0) result.terms.push_back({term.monomial, -term.coefficient});
  }
  return result;
}

}  // namespace

Expr Simplifier::Run(const Expr& expr) {
  if (expr.as<IntImm>() || expr.as<FloatImm>()) return expr;
  // An expression with one use is simplified once, so it is not memoized.
  bool is_kept = expr->IsShared();
  auto found = is_kept ? results_.find(expr.get()) : results_.end();
  if (found != results_.end()) return found->second.second;
  ++steps_;
  Expr result = !IsIndex(expr) ? RunOther(expr)
                : is_kept      ? Render(ToPolynomial(expr))
                               : Render(JoinRemainders(Expand(expr)));
  // An expression in normal form stays the same node.
  if (order_.Compare(result, expr) == 0) result = expr;
  if (is_kept) results_.emplace(expr.get(), std::pair(expr, result));
  return result;
}

// Simplifies all that is no arithmetic on i64 scalars. An i64 result may still be a sum.
Expr Simplifier::RunOther(const Expr& expr) {
  if (expr.dtype() == kBool) {
    Expr compared = VisitExpr(
        expr, Overloaded{
                  [&](const Eq& e) { return IsIndex(e.a) ? Compare(e.kind, e.a, e.b) : Expr(); },
                  [&](const Ne& e) { return IsIndex(e.a) ? Compare(e.kind, e.a, e.b) : Expr(); },
                  [&](const Lt& e) { return IsIndex(e.a) ? Compare(e.kind, e.a, e.b) : Expr(); },
                  [&](const Le& e) { return IsIndex(e.a) ? Compare(e.kind, e.a, e.b) : Expr(); },
                  [&](const And& e) { return AndOr(e.kind, e.a, e.b); },
                  [&](const Or& e) { return AndOr(e.kind, e.a, e.b); },
                  [&](const auto&) { return Expr(); },
              });
    if (compared) return compared;
  }
  Expr rebuilt = RebuildChildren(expr);
  if (std::optional<Expr> folded = FoldConstant(rebuilt)) return *folded;
  if (std::optional<Expr> rewritten = ApplyRules(rebuilt)) {
    // A rule's own constants are scalars.
    int lanes = rebuilt.dtype().lanes();
    bool narrow = rewritten->dtype().lanes() < lanes;
    return Run(narrow ? Make<Broadcast>(*rewritten, lanes) : *rewritten);
  }
  if (rebuilt.kind() != expr.kind()) return Run(rebuilt);
  if (expr.dtype() == kBool) {
    Interval bounds = BoundsOf(rebuilt, bounds_);
    if (IsPoint(bounds)) return IntConst(kBool, bounds.low);
  }
  return rebuilt;
}

Expr Simplifier::RebuildChildren(const Expr& expr) {
  auto all = [&](const std::vector<Expr>& exprs) {
    std::vector<Expr> result;
    result.reserve(exprs.size());
    for (const Expr& e : exprs) result.push_back(Run(e));
    return result;
  };
  return VisitExpr(
      expr, Overloaded{
                [&](const IntImm&) { return expr; },
                [&](const FloatImm&) { return expr; },
                [&](const VarNode&) { return expr; },
                [&](const Cast& e) { return RebuildCast(e, Run(e.value)); },
                [&](const Not& e) { return Make<Not>(Run(e.a)); },
                [&](const Select& e) {
                  return SelectOf(Run(e.condition), Run(e.then_value), Run(e.else_value));
                },
                [&](const Load& e) { return Make<Load>(e.buffer, all(e.indices)); },
                [&](const Call& e) { return Make<Call>(e.op, all(e.args)); },
                [&](const Ramp& e) { return Make<Ramp>(Run(e.base), Run(e.stride), e.lanes); },
                [&](const Broadcast& e) { return Make<Broadcast>(Run(e.value), e.lanes); },
                [&](const auto& e) {
                  using Node = std::decay_t<decltype(e)>;
                  return Make<Node>(Run(e.a), Run(e.b));
                },
            });
}

Expr Simplifier::Compare(ExprKind kind, const Expr& a, const Expr& b) {
  std::optional<Polynomial> difference = Difference(ToPolynomial(a), ToPolynomial(b), atoms_);
  // a <= b is a - b - 1 < 0.
  if (difference && kind == ExprKind::kLe) {
    difference = Sum(*difference, {-1, {}}, atoms_);
    kind = ExprKind::kLt;
  }
  if (difference) return CompareToZero(kind, JoinRemainders(*std::move(difference)));
  Expr x = Run(a), y = Run(b);
  return kind == ExprKind::kEq   ? Make<Eq>(x, y)
         : kind == ExprKind::kNe ? Make<Ne>(x, y)
         : kind == ExprKind::kLt ? x < y
                                 : x <= y;
}

// Returns `difference` < 0, == 0 or != 0, with terms on the side where they are positive. The
// constant is on the right, or on the left if that side has no terms.
Expr Simplifier::CompareToZero(ExprKind kind, Polynomial difference) {
  bool less = kind == ExprKind::kLt;
  Interval bounds = BoundsOfPolynomial(difference);
  if (less && bounds.low < 0 && bounds.high >= 0) bounds = BoundsOfMultiples(difference, bounds);
  if (less && bounds.high < 0) return True();
  if (less && bounds.low >= 0) return IntConst(kBool, 0);
  if (!less && (bounds.low > 0 || bounds.high < 0)) return IntConst(kBool, kind == ExprKind::kNe);
  if (!less && IsPoint(bounds)) return IntConst(kBool, kind == ExprKind::kEq);

  int64_t content = Content(difference);
  if (content > 1) {
    // g*x + c < 0 is x < -c/g, and an integer x below a fraction is below the next integer.
    int64_t c = difference.constant;
    if (!less && c % content != 0) return IntConst(kBool, kind == ExprKind::kNe);
    difference.constant = c / content - (c % content < 0);
    for (Term& term : difference.terms) term.coefficient /= content;
  }
  if (!less && !difference.terms.empty() && difference.terms[0].coefficient < 0) {
    if (std::optional<Polynomial> minus = Scale(difference, -1)) difference = *minus;
  }
  Polynomial left = PositivePart(difference), right = NegativePart(difference);
  if (difference.constant == INT64_MIN) {
    left.constant = INT64_MIN;
  } else if (left.terms.empty()) {
    left.constant = difference.constant;
  } else if (less && difference.constant == -1 && !right.terms.empty()) {
    return Render(left) <= Render(right);
  } else {
    right.constant = -difference.constant;
  }
  Expr a = Render(left), b = Render(right);
  return less ? a < b : kind == ExprKind::kEq ? Make<Eq>(a, b) : Make<Ne>(a, b);
}

// Keeps the order of operands, since the first that decides ends the evaluation.
Expr Simplifier::AndOr(ExprKind kind, const Expr& a, const Expr& b) {
  int64_t neutral = kind == ExprKind::kAnd;
  std::vector<Expr> operands, kept;
  AppendOperands(kind, Run(a), operands);
  AppendOperands(kind, Run(b), operands);
  for (const Expr& operand : operands) {
    if (IsConstant(operand, neutral)) continue;
    if (IsConstant(operand, !neutral)) return operand;
    bool known =
        std::ranges::any_of(kept, [&](const Expr& e) { return order_.Compare(e, operand) == 0; });
    if (!known) kept.push_back(operand);
  }
  if (MergeTwo(kind, kept)) return Run(Joined(kind, kept));
  return kept.empty() ? IntConst(kBool, neutral) : Joined(kind, kept);
}

}  // namespace tcc
