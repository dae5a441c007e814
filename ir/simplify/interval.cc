#include "ir/simplify/interval.h"

#include <algorithm>
#include <bit>

#include "ir/expr/visitor.h"
#include "ir/simplify/interval_arithmetic.h"
#include "ir/simplify/simplify.h"

namespace tcc {
namespace {

constexpr Interval kFalseOrTrue{0, 1};
constexpr Interval kTrue{1, 1};
constexpr Interval kFalse{0, 0};

// Returns the range of the type. u64 is held modulo 2^64 and so may look negative.
Interval TypeBounds(DType type) {
  if (type.is_bool()) return kFalseOrTrue;
  if (!type.is_integer() || type.bits() == 64) return {};
  return {MinValue(type), MaxValue(type)};
}

bool IsIndexOrBool(DType type) {
  return type == kInt64 || type == kBool;
}

class BoundsFinder {
 public:
  explicit BoundsFinder(const Bounds& bounds) : bounds_(bounds) {}

  Interval Of(const Expr& expr) {
    if (const auto* imm = expr.as<IntImm>()) return Interval::Point(imm->value);
    if (const auto* var = expr.as<VarNode>()) return OfVar(*var);
    if (!IsIndexOrBool(expr.dtype())) return TypeBounds(expr.dtype());
    if (!expr->IsShared()) return VisitExpr(expr, [&](const auto& node) { return Visit(node); });
    auto found = memo_.find(expr.get());
    if (found != memo_.end()) return found->second;
    Interval result = VisitExpr(expr, [&](const auto& node) { return Visit(node); });
    memo_.emplace(expr.get(), result);
    return result;
  }

 private:
  Interval OfVar(const VarNode& var) {
    auto found = bounds_.find(Var(var));
    if (found != bounds_.end()) return found->second;
    if (var.role == VarRole::kTile || var.role == VarRole::kShape) return {var.low, var.high};
    return TypeBounds(var.dtype);
  }

  Interval Visit(const Add& node) { return Of(node.a) + Of(node.b); }
  Interval Visit(const Sub& node) { return Of(node.a) - Of(node.b); }
  Interval Visit(const Mul& node) { return Of(node.a) * Of(node.b); }
  Interval Visit(const FloorDiv& node) { return FloorDivide(Of(node.a), Of(node.b)); }
  Interval Visit(const FloorMod& node) { return FloorModulo(Of(node.a), Of(node.b)); }
  Interval Visit(const CeilDiv& node) { return CeilDivide(Of(node.a), Of(node.b)); }
  Interval Visit(const Min& node) { return MinOf(Of(node.a), Of(node.b)); }
  Interval Visit(const Max& node) { return MaxOf(Of(node.a), Of(node.b)); }

  Interval Visit(const Lt& node) { return Compare(node, 1); }
  Interval Visit(const Le& node) { return Compare(node, 0); }
  // a + margin <= b
  template <typename Node>
  Interval Compare(const Node& node, int64_t margin) {
    if (!IsIndexOrBool(node.a.dtype())) return kFalseOrTrue;
    Interval a = Of(node.a) + Interval::Point(margin), b = Of(node.b);
    if (a.high < INT64_MAX && b.low > INT64_MIN && a.high <= b.low) return kTrue;
    if (a.low > INT64_MIN && b.high < INT64_MAX && a.low > b.high) return kFalse;
    return kFalseOrTrue;
  }

  Interval Visit(const Eq& node) {
    if (!IsIndexOrBool(node.a.dtype())) return kFalseOrTrue;
    Interval a = Of(node.a), b = Of(node.b);
    if (a.high < b.low || b.high < a.low) return kFalse;
    return IsPoint(a) && a == b ? kTrue : kFalseOrTrue;
  }
  Interval Visit(const Ne& node) {
    Interval equal = Visit(static_cast<const Eq&>(*Make<Eq>(node.a, node.b)));
    return Interval::Point(1) - equal;
  }
  Interval Visit(const And& node) { return MinOf(Of(node.a), Of(node.b)); }
  Interval Visit(const Or& node) { return MaxOf(Of(node.a), Of(node.b)); }
  Interval Visit(const Not& node) { return Interval::Point(1) - Of(node.a); }

  Interval Visit(const Select& node) {
    Interval condition = Of(node.condition);
    if (condition == kTrue) return Of(node.then_value);
    if (condition == kFalse) return Of(node.else_value);
    return Hull(Of(node.then_value), Of(node.else_value));
  }

  Interval Visit(const Cast& node) {
    DType from = node.value.dtype();
    if (node.dtype == kInt64 && (from.is_integer() || from.is_bool())) return Of(node.value);
    if (node.dtype == kBool && from == kInt64) {
      Interval value = Of(node.value);
      if (value == kFalse) return kFalse;
      if (value.low > 0 || value.high < 0) return kTrue;
    }
    return TypeBounds(node.dtype);
  }

  // Bounds bitwise ops on non-negative operands; other calls get their type's range.
  Interval Visit(const Call& node) {
    bool bits =
        node.op == ScalarOp::kBitAnd || node.op == ScalarOp::kBitOr || node.op == ScalarOp::kBitXor;
    if (!bits) return TypeBounds(node.dtype);
    Interval a = Of(node.args[0]), b = Of(node.args[1]);
    if (a.low < 0 || b.low < 0) return TypeBounds(node.dtype);
    if (node.op == ScalarOp::kBitAnd) return {0, std::min(a.high, b.high)};
    auto highest = static_cast<uint64_t>(std::max(a.high, b.high));
    int width = std::bit_width(highest);
    return {0, width >= 63 ? INT64_MAX : (int64_t{1} << width) - 1};
  }

  template <typename Node>
  Interval Visit(const Node& node) {
    return TypeBounds(node.dtype);
  }

  const Bounds& bounds_;
  // Ranges of shared nodes, which live as long as the root expression; the temporary of Ne is none.
  std::unordered_map<const ExprNode*, Interval> memo_;
};

}  // namespace

Interval BoundsOf(const Expr& expr, const Bounds& bounds) {
  return BoundsFinder(bounds).Of(expr);
}

Proof Decide(const Expr& condition, const Bounds& bounds) {
  TCC_CHECK(condition.dtype() == kBool) << ToString(condition.dtype());
  Interval value = BoundsOf(condition, bounds);
  if (!IsPoint(value)) return Proof::kUnknown;
  return value == kTrue ? Proof::kTrue : Proof::kFalse;
}

Proof Prove(const Expr& condition, const Bounds& bounds) {
  Proof proof = Decide(condition, bounds);
  return proof == Proof::kUnknown ? Decide(Simplify(condition, bounds), bounds) : proof;
}

}  // namespace tcc
