#include "graph/ops/lowerings.h"

namespace tcc {
namespace {

enum Operand : size_t { kLogProbability, kTarget, kWeight };

// One element of the loss for each target, and its weight; 0 for targets that are ignored.
struct Term {
  Expr loss;
  Expr weight;
};

// Targets outside the classes are an error in ONNX; here they are clamped, so that no model reads
// outside its tensors.
Term TermAt(NodeLowering& node, const std::vector<Expr>& at, DType computed) {
  Expr target = CastTo(kInt64, node.Load(kTarget, at));
  Expr last = Plus(node.Shape(kLogProbability)[1], -1);
  Expr label = MaxOf(MinOf(target, last), Expr(0));
  std::vector<Expr> index = at;
  index.insert(index.begin() + 1, label);
  Expr weight =
      node.Has(kWeight) ? CastTo(computed, node.Load(kWeight, {label})) : Const(computed, 1);
  Expr loss = Const(computed, 0) - CastTo(computed, node.Load(kLogProbability, index)) * weight;
  if (node.node().attributes.contains("ignore_index")) {
    Expr ignored = Make<Eq>(target, Expr(node.node().Int("ignore_index", 0)));
    Expr zero = Const(computed, 0);
    return {.loss = SelectOf(ignored, zero, loss), .weight = SelectOf(ignored, zero, weight)};
  }
  return {.loss = loss, .weight = weight};
}

Status CheckOperands(NodeLowering& node) {
  TCC_RETURN_IF_ERROR(node.CheckInputs(2, 3));
  const std::vector<Expr>& x = node.Shape(kLogProbability);
  const std::vector<Expr>& target = node.Shape(kTarget);
  if (!node.Type(kLogProbability).is_float() || !node.Type(kTarget).is_integer()) {
    return node.Error("inputs are {} and {}; expected floats and integers",
                      ToString(node.Type(kLogProbability)), ToString(node.Type(kTarget)));
  }
  bool fits = x.size() >= 2 && target.size() + 1 == x.size() && !IsConstant(x[1], 0);
  for (size_t d = 0; fits && d < target.size(); ++d) {
    fits = node.Agree(target[d], x[d == 0 ? 0 : d + 1], "dimensions of input and target").ok();
  }
  if (!fits) {
    return node.Error("inputs have shapes {} and {}; expected N, classes, ... and N, ...",
                      ShapeText(x), ShapeText(target));
  }
  if (!node.Has(kWeight)) return OkStatus();
  if (node.Rank(kWeight) != 1 ||
      !node.Agree(node.Shape(kWeight)[0], x[1], "numbers of weights and classes").ok()) {
    return node.Error("weights have shape {}; expected {}", ShapeText(node.Shape(kWeight)),
                      ShapeText({x[1]}));
  }
  return OkStatus();
}

}  // namespace

// -weight[target] * x[n, target, ...]: each of them, their sum, or the sum over that of the
// weights.
Status LowerNegativeLogLikelihoodLoss(NodeLowering& node) {
  TCC_RETURN_IF_ERROR(CheckOperands(node));
  std::string reduction = node.node().String("reduction", "mean");
  DType type = node.Type(kLogProbability);
  DType computed = AccumulationType(type);
  const std::vector<Expr>& shape = node.Shape(kTarget);
  std::vector<Axis> axes = node.Axes(shape);
  Term term = TermAt(node, VarsOf(axes), computed);
  if (reduction == "none") {
    node.Map(node.Output(0, type, shape), axes, CastTo(type, term.loss));
    return OkStatus();
  }
  if (reduction != "mean" && reduction != "sum") {
    return node.Error("reduction is '{}'; expected none, sum or mean", reduction);
  }

  StoredBuffer out = node.Output(0, type, {});
  StoredBuffer loss = node.Intermediate("loss", computed, {});
  StoredBuffer weight = node.Intermediate("weight", computed, {});
  node.Reduce({.outputs = {loss, weight},
               .axes = {},
               .reduce_axes = axes,
               .combiner = SumPairCombiner(computed),
               .values = {term.loss, term.weight},
               .suffix = "_sums"});
  Expr total = node.Load(loss, {});
  Expr value = reduction == "sum" ? total : Make<Div>(total, node.Load(weight, {}));
  node.Map(out, {}, CastTo(type, value));
  return OkStatus();
}

}  // namespace tcc
