#include "autodiff_features/counts/real_formulas.h"

namespace tcc {

Expr Real(const Expr& integer) {
  std::optional<int64_t> value = AsConstant(integer);
  return value ? Real(static_cast<double>(*value)) : CastTo(kFloat64, integer);
}

bool IsReal(const Expr& expr, double value) {
  const auto* imm = expr.as<FloatImm>();
  return imm && imm->value == value;
}

Expr RealSum(const Expr& a, const Expr& b) {
  if (IsReal(a, 0)) return b;
  return IsReal(b, 0) ? a : a + b;
}

Expr RealProduct(const Expr& a, const Expr& b) {
  if (IsReal(a, 1) || IsReal(b, 0)) return b;
  return IsReal(b, 1) || IsReal(a, 0) ? a : a * b;
}

Expr RealQuotient(const Expr& a, const Expr& b) {
  return IsReal(b, 1) || IsReal(a, 0) ? a : Make<Div>(a, b);
}

Expr Exp(const Expr& x) {
  return CallOf(ScalarOp::kExp, {x});
}
Expr Ln(const Expr& x) {
  return CallOf(ScalarOp::kLog, {x});
}

Expr Largest(const std::vector<Expr>& values) {
  Expr largest = values[0];
  for (size_t i = 1; i < values.size(); ++i) {
    if (!IsReal(values[i], 0)) largest = MaxOf(largest, values[i]);
  }
  return largest;
}

Expr Overlapped(const std::vector<Expr>& seconds, const Expr& p) {
  Expr sum = Real(0);
  for (const Expr& t : seconds) sum = RealSum(sum, Exp(RealProduct(p, Ln(t + Real(1e-12)))));
  return Exp(RealQuotient(Ln(sum), p));
}

Expr ProductOf(const std::vector<Expr>& extents) {
  Expr product = Real(1);
  for (const Expr& extent : extents) product = RealProduct(product, Real(extent));
  return product;
}

}  // namespace tcc
