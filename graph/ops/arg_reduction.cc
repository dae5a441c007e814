#include "graph/ops/lowerings.h"
#include "graph/ops/reduction_axes.h"

namespace tcc {
namespace {

// The reduced axis, which must hold something to pick.
StatusOr<int> PickedAxis(NodeLowering& node, int64_t fallback) {
  TCC_ASSIGN_OR_RETURN(int axis,
                       node.NormalizedAxis(node.node().Int("axis", fallback), node.Rank(0)));
  if (IsConstant(node.Shape(0)[axis], 0)) {
    return node.Error("axis {} has extent 0; there is nothing to pick", axis);
  }
  TCC_RETURN_IF_ERROR(node.AgreeAtMost(Expr(1), node.Shape(0)[axis],
                                       fmt::format("the least extent and that of axis {}", axis)));
  return axis;
}

}  // namespace

// The index of the largest or smallest element, a reduction to (value, index).
Status LowerArgReduction(NodeLowering& node) {
  TCC_RETURN_IF_ERROR(node.CheckInputs(1, 1));
  DType type = node.Type(0);
  if (type.is_bool()) return node.Error("input has type bool; expected numbers");
  TCC_ASSIGN_OR_RETURN(int axis, PickedAxis(node, 0));
  bool keep = node.node().Int("keepdims", 1) != 0;
  ReductionAxes in = AxesFor(node, OnlyAxis(node.Rank(0), axis),
                             keep ? ReducedDims::kKept : ReducedDims::kDropped);
  TieBreak tie = node.node().Int("select_last_index", 0) != 0 ? TieBreak::kLast : TieBreak::kFirst;
  DType compared = AccumulationType(type);
  StoredBuffer index = node.Output(0, kInt64, ExtentsOf(in.axes));
  StoredBuffer value = node.Intermediate("best", compared, ExtentsOf(in.axes));
  node.Reduce({.outputs = {value, index},
               .axes = in.axes,
               .reduce_axes = in.reduce_axes,
               .combiner = node.node().op == OpKind::kArgMax ? ArgMaxCombiner(compared, tie)
                                                             : ArgMinCombiner(compared, tie),
               .values = {CastTo(compared, node.Load(0, in.input_index)), in.reduce_axes[0].var}});
  return OkStatus();
}

// 1 at the first of the largest elements along the axis, 0 elsewhere.
Status LowerHardmax(NodeLowering& node) {
  TCC_RETURN_IF_ERROR(node.CheckInputs(1, 1));
  DType type = node.Type(0);
  TCC_RETURN_IF_ERROR(node.CheckFloats(0));
  TCC_ASSIGN_OR_RETURN(int axis, node.NormalizedAxis(node.node().Int("axis", -1), node.Rank(0)));
  std::vector<bool> reduced = OnlyAxis(node.Rank(0), axis);
  ReductionAxes in = AxesFor(node, reduced, ReducedDims::kKept);
  DType compared = AccumulationType(type);
  StoredBuffer out = node.Output(0, type, node.Shape(0));
  StoredBuffer value = node.Intermediate("max", compared, ExtentsOf(in.axes));
  StoredBuffer index = node.Intermediate("index", kInt64, ExtentsOf(in.axes));
  node.Reduce({.outputs = {value, index},
               .axes = in.axes,
               .reduce_axes = in.reduce_axes,
               .combiner = ArgMaxCombiner(compared, TieBreak::kFirst),
               .values = {CastTo(compared, node.Load(0, in.input_index)), in.reduce_axes[0].var},
               .suffix = "_rows"});

  std::vector<Axis> axes = node.Axes(node.Shape(0));
  Expr largest = node.Load(index, RowOfElement(VarsOf(axes), reduced));
  Expr is_largest = Make<Eq>(largest, axes[axis].var);
  node.Map(out, axes, SelectOf(is_largest, Const(type, 1), Const(type, 0)));
  return OkStatus();
}

}  // namespace tcc
