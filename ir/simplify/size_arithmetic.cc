#include "ir/simplify/size_arithmetic.h"

#include <algorithm>

#include "ir/simplify/simplify.h"
#include "support/check.h"
#include "support/integer_division.h"

namespace tcc {
namespace {

// Applies `fold` to two numbers, or simplifies the formula.
template <typename Fold>
Expr FoldedOr(const Expr& a, const Expr& b, Fold fold, Expr (*formula)(const Expr&, const Expr&)) {
  std::optional<int64_t> x = AsConstant(a);
  std::optional<int64_t> y = AsConstant(b);
  return x && y ? Expr(fold(*x, *y)) : Simplify(formula(a, b));
}

}  // namespace

Expr SumOf(const Expr& a, const Expr& b) {
  auto sum = [](int64_t x, int64_t y) {
    int64_t exact;
    if (!__builtin_add_overflow(x, y, &exact)) return exact;
    return y > 0 ? INT64_MAX : INT64_MIN;
  };
  return FoldedOr(a, b, sum, operator+);
}

Expr DifferenceOf(const Expr& a, const Expr& b) {
  auto difference = [](int64_t x, int64_t y) {
    int64_t exact;
    if (!__builtin_sub_overflow(x, y, &exact)) return exact;
    return y < 0 ? INT64_MAX : INT64_MIN;
  };
  return FoldedOr(a, b, difference, operator-);
}

Expr ProductOf(const Expr& a, const Expr& b) {
  auto product = [](int64_t x, int64_t y) {
    int64_t exact;
    if (!__builtin_mul_overflow(x, y, &exact)) return exact;
    return (x < 0) == (y < 0) ? INT64_MAX : INT64_MIN;
  };
  return FoldedOr(a, b, product, operator*);
}

Expr QuotientOf(const Expr& a, const Expr& b) {
  return FoldedOr(a, b, FloorDivision, FloorDivide);
}

Expr CeilQuotientOf(const Expr& a, const Expr& b) {
  return FoldedOr(a, b, CeilDivision, CeilDivide);
}

Expr SmallerOf(const Expr& a, const Expr& b) {
  return FoldedOr(a, b, [](int64_t x, int64_t y) { return std::min(x, y); }, MinOf);
}

Expr LargerOf(const Expr& a, const Expr& b) {
  return FoldedOr(a, b, [](int64_t x, int64_t y) { return std::max(x, y); }, MaxOf);
}

Expr ChosenOf(const Expr& condition, const Expr& then_value, const Expr& else_value) {
  switch (Prove(condition, {})) {
    case Proof::kTrue:
      return then_value;
    case Proof::kFalse:
      return else_value;
    case Proof::kUnknown:
      return Simplify(SelectOf(condition, then_value, else_value));
  }
  TCC_UNREACHABLE();
}

bool AlwaysHolds(const Expr& condition) {
  return Prove(condition, {}) == Proof::kTrue;
}

}  // namespace tcc
