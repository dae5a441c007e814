#include "graph/ops/lowerings.h"

namespace tcc {
namespace {

StatusOr<int> ScannedAxis(const NodeLowering& node) {
  TCC_ASSIGN_OR_RETURN(std::vector<int64_t> axis, node.ConstantInts(1, "axis"));
  if (axis.size() != 1) return node.Error("has {} axes; expected 1", axis.size());
  return node.NormalizedAxis(axis[0], node.Rank(0));
}

}  // namespace

// Each element is the one before it and the input there, or with `exclusive` the input before.
Status LowerCumSum(NodeLowering& node) {
  TCC_RETURN_IF_ERROR(node.CheckInputs(2, 2));
  TCC_ASSIGN_OR_RETURN(int axis, ScannedAxis(node));
  const std::vector<Expr>& shape = node.Shape(0);
  DType type = node.Type(0);
  DType sum_type = AccumulationType(type);
  StoredBuffer out = node.Output(0, type, shape);
  StoredBuffer sums = sum_type == type ? out : node.Intermediate("sums", sum_type, shape);

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
  Expr input = CastTo(sum_type, node.Load(0, at_step(exclusive ? Plus(step, -1) : step)));
  Expr first = exclusive ? Const(sum_type, 0) : input;
  Expr value = SelectOf(step < Expr(1), first, node.Load(sums, at_step(Plus(step, -1))) + input);
  node.StoreInOrder(
      {.output = sums, .axes = axes, .kinds = kinds, .indices = at_step(step), .value = value});
  if (sum_type == type) return OkStatus();
  std::vector<Axis> rounded = node.Axes(shape);
  node.Map(out, rounded, CastTo(type, node.Load(sums, VarsOf(rounded))), "_round");
  return OkStatus();
}

}  // namespace tcc
