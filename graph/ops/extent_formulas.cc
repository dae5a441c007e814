#include "graph/ops/extent_formulas.h"

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
  return AsConstant(a) && AsConstant(b) ? Plus(a, *AsConstant(b)) : Simplify(a + b);
}

Expr DifferenceOf(const Expr& a, const Expr& b) {
  auto saturated = [](int64_t x, int64_t y) {
    int64_t difference;
    if (!__builtin_sub_overflow(x, y, &difference)) return difference;
    return y < 0 ? INT64_MAX : INT64_MIN;
  };
  return FoldedOr(a, b, saturated, operator-);
}

Expr ProductOf(const Expr& a, const Expr& b) {
  return AsConstant(a) && AsConstant(b) ? Times(a, *AsConstant(b)) : Simplify(a * b);
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

Expr Shifted(const Expr& index, const Expr& offset) {
  if (std::optional<int64_t> number = AsConstant(offset)) return Plus(index, *number);
  return IsConstant(index, 0) ? offset : index + offset;
}

Expr Scaled(const Expr& index, const Expr& factor) {
  std::optional<int64_t> number = AsConstant(factor);
  return number ? Times(index, *number) : index * factor;
}

Status TakeAsExtent(NodeLowering& node, const Expr& formula, std::string_view what) {
  if (AsConstant(formula) || AlwaysHolds(formula >= Expr(0))) return OkStatus();
  return node.Agree(formula, LargerOf(formula, Expr(0)),
                    fmt::format("{} and the nearest extent", what));
}

StatusOr<std::vector<Expr>> ShapeOperand(NodeLowering& node, size_t input) {
  TCC_ASSIGN_OR_RETURN(std::vector<Expr> dims, node.Ints(input, "shape"));
  for (size_t d = 0; d < dims.size(); ++d) {
    if (AsConstant(dims[d]).value_or(0) < 0) {
      return node.Error("shape is {}; expected dimensions of at least 0", ShapeText(dims));
    }
    TCC_RETURN_IF_ERROR(TakeAsExtent(node, dims[d], fmt::format("dimension {} of shape", d)));
  }
  return dims;
}

}  // namespace tcc
