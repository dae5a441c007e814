#include <numbers>

#include "graph/ops/lowerings.h"
#include "ir/simplify/simplify.h"

namespace tcc {
namespace {

struct DftPlan {
  int axis = 0;
  Expr length;   // N: the signal is cut, or read as followed by zeros
  Expr signal;   // what of it is there
  Expr outputs;  // N, or N / 2 + 1
  bool inverse = false;
  bool to_real = false;  // the inverse of what a real signal gave, from its first half
};

StatusOr<DftPlan> PlanOf(NodeLowering& node) {
  const std::vector<Expr>& shape = node.Shape(0);
  std::vector<int64_t> axis = {node.node().Int("axis", -2)};
  if (node.Has(2)) {
    TCC_ASSIGN_OR_RETURN(axis, node.ConstantInts(2, "axis"));
  }
  bool complex = shape.size() >= 2 && IsConstant(shape.back(), 2);
  if (shape.size() < 2 || axis.size() != 1 || (!complex && !IsConstant(shape.back(), 1))) {
    return node.Error("{}; expected real or complex numbers in the last dimension",
                      node.InputText(0));
  }
  DftPlan plan;
  TCC_ASSIGN_OR_RETURN(plan.axis, node.NormalizedAxis(axis[0], shape.size()));
  if (plan.axis + 1 == static_cast<int>(shape.size())) {
    return node.Error("axis is the last one, which holds the parts of complex numbers");
  }
  bool onesided = node.node().Int("onesided", 0) != 0;
  plan.inverse = node.node().Int("inverse", 0) != 0;
  plan.to_real = onesided && plan.inverse;
  plan.signal = shape[plan.axis];
  plan.length = plan.to_real ? Times(Plus(plan.signal, -1), 2) : plan.signal;
  if (node.Has(1)) {
    TCC_ASSIGN_OR_RETURN(std::vector<Expr> length, node.Ints(1, "dft_length"));
    if (length.size() != 1) return node.Error("dft_length is {}", ShapeText(length));
    plan.length = length[0];
  }
  constexpr int64_t kLimit = int64_t{1} << 30;
  bool good = node.AgreeAtMost(Expr(1), plan.length, "the least length and the length").ok() &&
              node.AgreeAtMost(plan.length, Expr(kLimit - 1), "the length and the greatest").ok() &&
              (!plan.to_real || complex) && (!onesided || plan.inverse || !complex);
  if (!good) {
    return node.Error("{}, length {}, onesided {}, inverse {}", node.InputText(0),
                      ShapeText({plan.length}), onesided, plan.inverse);
  }
  Expr half = Simplify(FloorDivide(plan.length, Expr(2)) + Expr(1));
  plan.outputs = onesided && !plan.inverse ? half : plan.length;
  plan.signal = Simplify(MinOf(plan.signal, plan.to_real ? half : plan.length));
  return plan;
}

Expr F64(double value) {
  return FloatConst(kFloat64, value);
}

// The powers of e^(2 pi i / length): real and imaginary parts.
StoredBuffer RootsOfUnity(NodeLowering& node, const Expr& length) {
  std::vector<Expr> shape = {length, Expr(2)};
  StoredBuffer roots = node.Intermediate("roots", kFloat64, shape);
  std::vector<Axis> axes = node.Axes(shape);
  Expr angle = CastTo(kFloat64, axes[0].var) * Fraction(kFloat64, 2 * std::numbers::pi, length);
  Expr value = SelectOf(axes[1].var < Expr(1), CallOf(ScalarOp::kCos, {angle}),
                        CallOf(ScalarOp::kSin, {angle}));
  node.Map(roots, axes, value, "_roots");
  return roots;
}

}  // namespace

// out[k] = sum over n of x[n] e^(-2 pi i k n / N), the inverse with +i and divided by N. Twiddles
// and sums in f64: with f32 the zeros of a spectrum drown in rounding.
Status LowerDFT(NodeLowering& node) {
  TCC_RETURN_IF_ERROR(node.CheckInputs(1, 3));
  TCC_ASSIGN_OR_RETURN(DftPlan plan, PlanOf(node));
  DType type = node.Type(0);
  TCC_RETURN_IF_ERROR(node.CheckFloats(0));
  std::vector<Expr> shape = node.Shape(0);
  bool complex = IsConstant(shape.back(), 2);
  shape[plan.axis] = plan.outputs;
  shape.back() = Expr(plan.to_real ? 1 : 2);

  StoredBuffer roots = RootsOfUnity(node, plan.length);
  StoredBuffer out = node.Output(0, type, shape);
  std::vector<Axis> axes = node.Axes(shape);
  Axis n = NodeLowering::MakeAxis("time", plan.signal);
  Expr k = axes[plan.axis].var;
  Expr part = axes.back().var;
  Expr power = FloorModulo(k * n.var, plan.length);
  Expr cosine = node.Load(roots, {power, Expr(0)});
  Expr sine = node.Load(roots, {power, Expr(1)});
  if (!plan.inverse) sine = F64(0) - sine;
  std::vector<Expr> place = VarsOf(axes);
  place[plan.axis] = n.var;
  auto input = [&](int64_t which) {
    place.back() = Expr(which);
    return CastTo(kFloat64, node.Load(0, place));
  };
  Expr real = input(0) * cosine;
  Expr imaginary = input(0) * sine;
  if (complex) {
    real = real - input(1) * sine;
    imaginary = imaginary + input(1) * cosine;
  }
  if (plan.to_real) {
    // The other half mirrors this one; what is its own mirror image counts once.
    Expr alone = EitherOf(n.var < Expr(1), Make<Eq>(n.var * Expr(2), plan.length));
    real = SelectOf(alone, real, real * F64(2));
  }
  Expr term = plan.to_real ? real : SelectOf(part < Expr(1), real, imaginary);
  StoredBuffer sums = node.Reduced("sums", axes, {n}, SumCombiner(kFloat64), term);

  std::vector<Axis> rounded = node.Axes(shape);
  Expr value = node.Load(sums, VarsOf(rounded));
  if (plan.inverse) value = value * Fraction(kFloat64, 1, plan.length);
  node.Map(out, rounded, CastTo(type, value));
  return OkStatus();
}

}  // namespace tcc
