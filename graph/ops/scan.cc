#include "graph/ops/lowerings.h"

namespace tcc {
namespace {

StatusOr<int> ScannedAxis(const NodeLowering& node) {
  TCC_ASSIGN_OR_RETURN(std::vector<int64_t> axis, node.ConstantInts(1, "axis"));
  if (axis.size() != 1) return node.Error("has {} axes; expected 1", axis.size());
  return node.NormalizedAxis(axis[0], node.Rank(0));
}

}  // namespace

// Each element is the one before it with the input there added, or multiplied, or with `exclusive`
// the input before.
Status LowerCumulative(NodeLowering& node) {
  TCC_RETURN_IF_ERROR(node.CheckInputs(2, 2));
  TCC_ASSIGN_OR_RETURN(int axis, ScannedAxis(node));
  const std::vector<Expr>& shape = node.Shape(0);
  DType type = node.Type(0);
  DType computed = AccumulationType(type);
  StoredBuffer out = node.Output(0, type, shape);
  StoredBuffer results = computed == type ? out : node.Intermediate("results", computed, shape);

  std::vector<Axis> axes = node.Axes(shape);
  std::vector<IterKind> kinds(axes.size(), IterKind::kSpatial);
  kinds[axis] = IterKind::kReduce;
  Expr step = axes[axis].var;
  bool reverse = node.node().Int("reverse", 0) != 0;
  auto at_step = [&](const Expr& s) {
    std::vector<Expr> place = VarsOf(axes);
    place[axis] = reverse ? Plus(shape[axis], -1) - s : s;
    return place;
  };
  bool exclusive = node.node().Int("exclusive", 0) != 0;
  bool multiplies = node.node().op == OpKind::kCumProd;
  Expr input = CastTo(computed, node.Load(0, at_step(exclusive ? Plus(step, -1) : step)));
  Expr first = exclusive ? Const(computed, multiplies ? 1 : 0) : input;
  Expr before = node.Load(results, at_step(Plus(step, -1)));
  Expr value = SelectOf(step < Expr(1), first, multiplies ? before * input : before + input);
  node.StoreInOrder(
      {.output = results, .axes = axes, .kinds = kinds, .indices = at_step(step), .value = value});
  if (computed == type) return OkStatus();
  std::vector<Axis> rounded = node.Axes(shape);
  node.Map(out, rounded, CastTo(type, node.Load(results, VarsOf(rounded))), "_round");
  return OkStatus();
}

}  // namespace tcc
