#include "graph/ops/activations.h"

namespace tcc {
namespace {

using Operands = std::vector<Expr>;

Expr Number(const Expr& like, double value) {
  return Const(like.dtype(), value);
}

Expr Clamped01(const Expr& x) {
  return MaxOf(MinOf(x, Number(x, 1)), Number(x, 0));
}

// e^x - 1 = tanh(x / 2) (e^x + 1), where nothing cancels; for x <= 0, so that e^x does not
// overflow.
Expr ExpMinusOne(const Expr& x) {
  Expr half = CallOf(ScalarOp::kTanh, {x * Number(x, 0.5)});
  return half * (CallOf(ScalarOp::kExp, {x}) + Number(x, 1));
}

// log(1 + e^x) = max(x, 0) + log(1 + e^-|x|).
Expr Softplus(const Expr& x) {
  Expr magnitude = CallOf(ScalarOp::kAbs, {x});
  Expr decay = CallOf(ScalarOp::kExp, {Number(x, 0) - magnitude});
  return MaxOf(x, Number(x, 0)) + CallOf(ScalarOp::kLog1p, {decay});
}

}  // namespace

// max(0, x) + min(0, alpha (e^(x / alpha) - 1)): for alpha < 0 both terms may be there.
Expr CeluOf(const Node& node, const Operands& x) {
  Expr zero = Number(x[0], 0);
  Expr alpha = Number(x[0], node.Float("alpha", 1));
  Expr scaled = Make<Div>(x[0], alpha);
  Expr power = CallOf(ScalarOp::kExp, {scaled}) - Number(x[0], 1);
  Expr curve = SelectOf(scaled <= zero, ExpMinusOne(scaled), power);
  return MaxOf(zero, x[0]) + MinOf(zero, alpha * curve);
}

Expr EluOf(const Node& node, const Operands& x) {
  Expr curve = ExpMinusOne(x[0]) * Number(x[0], node.Float("alpha", 1));
  return SelectOf(x[0] < Number(x[0], 0), curve, x[0]);
}

// x P(X <= x) of a normal X; approximately, Hendrycks and Gimpel 2016,
// x (1 + tanh(sqrt(2 / pi) (x + 0.044715 x^3))) / 2.
Expr GeluOf(const Node& node, const Operands& x) {
  constexpr double kSqrtHalf = 0.70710678118654752440;
  constexpr double kSqrtTwoOverPi = 0.79788456080286535588;
  const Expr& v = x[0];
  Expr one = Number(v, 1);
  Expr half = v * Number(v, 0.5);
  if (node.String("approximate", "none") == "tanh") {
    Expr cubic = v * (one + v * v * Number(v, 0.044715));
    return half * (one + CallOf(ScalarOp::kTanh, {cubic * Number(v, kSqrtTwoOverPi)}));
  }
  return half * (one + CallOf(ScalarOp::kErf, {v * Number(v, kSqrtHalf)}));
}

Expr HardSigmoidOf(const Node& node, const Operands& x) {
  Expr alpha = Number(x[0], node.Float("alpha", 0.2));
  return Clamped01(x[0] * alpha + Number(x[0], node.Float("beta", 0.5)));
}

Expr HardSwishOf(const Node&, const Operands& x) {
  return x[0] * Clamped01(x[0] * Number(x[0], 1.0 / 6) + Number(x[0], 0.5));
}

Expr LeakyReluOf(const Node& node, const Operands& x) {
  Expr below = x[0] * Number(x[0], node.Float("alpha", 0.01));
  return SelectOf(x[0] < Number(x[0], 0), below, x[0]);
}

Expr MishOf(const Node&, const Operands& x) {
  return x[0] * CallOf(ScalarOp::kTanh, {Softplus(x[0])});
}

Expr PReluOf(const Node&, const Operands& x) {
  return SelectOf(x[0] < Number(x[0], 0), x[0] * x[1], x[0]);
}

Expr ReluOf(const Node&, const Operands& x) {
  return MaxOf(x[0], Number(x[0], 0));
}

Expr SeluOf(const Node& node, const Operands& x) {
  Expr gamma = Number(x[0], node.Float("gamma", 1.05070102214813232421875));
  Expr alpha = Number(x[0], node.Float("alpha", 1.67326319217681884765625));
  return gamma * SelectOf(x[0] > Number(x[0], 0), x[0], alpha * ExpMinusOne(x[0]));
}

// In doubles for integers, whose bounds need not be whole.
Expr ShrinkOf(const Node& node, const Operands& x) {
  Expr v = x[0].dtype().is_integer() ? CastTo(kFloat64, x[0]) : x[0];
  Expr bias = Number(v, node.Float("bias", 0));
  Expr lambda = Number(v, node.Float("lambd", 0.5));
  Expr above = SelectOf(v > lambda, v - bias, Number(v, 0));
  return CastTo(x[0].dtype(), SelectOf(v < Number(v, 0) - lambda, v + bias, above));
}

Expr SoftplusOf(const Node&, const Operands& x) {
  return Softplus(x[0]);
}

Expr SoftsignOf(const Node&, const Operands& x) {
  return Make<Div>(x[0], CallOf(ScalarOp::kAbs, {x[0]}) + Number(x[0], 1));
}

Expr SwishOf(const Node& node, const Operands& x) {
  double alpha = node.Float("alpha", 1);
  Expr scaled = alpha == 1 ? x[0] : x[0] * Number(x[0], alpha);
  return x[0] * CallOf(ScalarOp::kSigmoid, {scaled});
}

Expr ThresholdedReluOf(const Node& node, const Operands& x) {
  Expr alpha = Number(x[0], node.Float("alpha", 1));
  return SelectOf(x[0] > alpha, x[0], Number(x[0], 0));
}

}  // namespace tcc
