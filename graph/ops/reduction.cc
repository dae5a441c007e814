#include "graph/ops/lowerings.h"
#include "graph/ops/reduction_axes.h"

namespace tcc {
namespace {

// Returns the dimensions to reduce: those of input 1, or all of them; none with
// noop_with_empty_axes.
StatusOr<std::vector<bool>> AxesToReduce(const NodeLowering& node) {
  size_t rank = node.Rank(0);
  std::vector<int64_t> axes;
  if (node.Has(1)) {
    TCC_ASSIGN_OR_RETURN(axes, node.ConstantInts(1, "axes"));
  }
  bool all = axes.empty() && node.node().Int("noop_with_empty_axes", 0) == 0;
  std::vector<bool> reduced(rank, all);
  for (int64_t axis : axes) {
    TCC_ASSIGN_OR_RETURN(int dim, node.NormalizedAxis(axis, rank));
    reduced[dim] = true;
  }
  return reduced;
}

StatusOr<Combiner> CombinerOf(const NodeLowering& node, DType type) {
  OpKind op = node.node().op;
  if (type.is_bool()) {
    if (op == OpKind::kReduceMax) return OrCombiner();
    if (op == OpKind::kReduceMin) return AndCombiner();
    return node.Error("input has type bool; expected numbers");
  }
  if (op == OpKind::kReduceMax) return MaxCombiner(type);
  if (op == OpKind::kReduceMin) return MinCombiner(type);
  if (op == OpKind::kReduceProd) return ProductCombiner(type);
  return SumCombiner(type);
}

// Returns the summand of an element.
Expr Summand(OpKind op, const Expr& x) {
  if (op == OpKind::kReduceL1) return CallOf(ScalarOp::kAbs, {x});
  if (op == OpKind::kReduceL2 || op == OpKind::kReduceSumSquare) return x * x;
  return x;
}

// Returns the result from the sum of `count` elements.
Expr FromSum(OpKind op, const Expr& sum, const Expr& count) {
  if (op == OpKind::kReduceL2) return CallOf(ScalarOp::kSqrt, {sum});
  if (op == OpKind::kReduceLogSum) return CallOf(ScalarOp::kLog, {sum});
  if (op != OpKind::kReduceMean) return sum;
  if (sum.dtype().is_float()) return Make<Div>(sum, count);
  if (IsConstant(count, 0)) return Const(sum.dtype(), 0);
  return CallOf(ScalarOp::kTruncDiv, {sum, count});
}

// Returns the type that a reduction is computed in. Roots and logarithms of integers use f64.
DType ComputedType(OpKind op, DType type) {
  if (op == OpKind::kReduceMax || op == OpKind::kReduceMin) return type;
  bool real =
      op == OpKind::kReduceL2 || op == OpKind::kReduceLogSum || op == OpKind::kReduceLogSumExp;
  return real && type.is_integer() ? kFloat64 : AccumulationType(type);
}

// Computes log(sum of e^x) as the maximum plus the logarithm of the sum of e^(x - maximum).
void ReduceLogSumExp(NodeLowering& node, const ReductionAxes& in, DType computed) {
  std::vector<Expr> shape = ExtentsOf(in.axes);
  StoredBuffer out = node.Output(0, node.Type(0), shape);
  StoredBuffer maximum = node.Intermediate("max", computed, shape);
  StoredBuffer sum = node.Intermediate("sum", computed, shape);
  node.Reduce({.outputs = {maximum, sum},
               .axes = in.axes,
               .reduce_axes = in.reduce_axes,
               .combiner = SoftmaxCombiner(computed),
               .values = {CastTo(computed, node.Load(0, in.input_index)), Const(computed, 1)}});
  std::vector<Axis> axes = node.Axes(shape);
  Expr value =
      node.Load(maximum, VarsOf(axes)) + CallOf(ScalarOp::kLog, {node.Load(sum, VarsOf(axes))});
  node.Map(out, axes, CastTo(node.Type(0), value), "_log");
}

}  // namespace

// Lowers a reduction. With no axes (noop_with_empty_axes) only the functions before and after the
// sum apply.
Status LowerReduction(NodeLowering& node) {
  TCC_RETURN_IF_ERROR(node.CheckInputs(1, 2));
  TCC_ASSIGN_OR_RETURN(std::vector<bool> reduced, AxesToReduce(node));
  bool keep = node.node().Int("keepdims", 1) != 0;
  ReductionAxes in = AxesFor(node, reduced, keep ? ReducedDims::kKept : ReducedDims::kDropped);
  std::vector<Expr> shape = ExtentsOf(in.axes);
  OpKind op = node.node().op;
  DType type = node.Type(0);
  DType computed = ComputedType(op, type);
  TCC_ASSIGN_OR_RETURN(Combiner combiner, CombinerOf(node, computed));
  Expr count = CountAs(computed, ExtentsOf(in.reduce_axes));
  Expr value = Summand(op, CastTo(computed, node.Load(0, in.input_index)));

  if (in.reduce_axes.empty()) {
    StoredBuffer out = node.Output(0, type, shape);
    if (op != OpKind::kReduceLogSumExp) value = FromSum(op, value, count);
    node.Map(out, in.axes, CastTo(type, value));
    return OkStatus();
  }
  if (op == OpKind::kReduceLogSumExp) {
    ReduceLogSumExp(node, in, computed);
    return OkStatus();
  }

  bool epilogue = computed != type || op == OpKind::kReduceMean || op == OpKind::kReduceL2 ||
                  op == OpKind::kReduceLogSum;
  StoredBuffer out = node.Output(0, type, shape);
  StoredBuffer sum = epilogue ? node.Intermediate("sum", computed, shape) : out;
  node.Reduce({.outputs = {sum},
               .axes = in.axes,
               .reduce_axes = in.reduce_axes,
               .combiner = combiner,
               .values = {value}});
  if (!epilogue) return OkStatus();

  std::vector<Axis> axes = node.Axes(shape);
  value = FromSum(op, node.Load(sum, VarsOf(axes)), count);
  node.Map(out, axes, CastTo(type, value), op == OpKind::kReduceMean ? "_mean" : "_round");
  return OkStatus();
}

// Returns power / total, or 0 below the least normal number: each operation on a subnormal number
// costs an Intel CPU some 150 cycles. `total` is at least 1, so that the bound itself is normal.
Expr ProbabilityOf(const Expr& power, const Expr& total) {
  if (power.dtype() != kFloat32) return Make<Div>(power, total);
  Expr least = total * Const(kFloat32, 0x1p-126);
  Expr normal = SelectOf(Make<Lt>(power, least), Const(kFloat32, 0), power);
  return Make<Div>(normal, total);
}

// Lowers Softmax and LogSoftmax to the rows' maxima, the exponentials of the differences from them,
// their sums, and a map. Schedules can tile such a chain of plain reductions, but not one reduction
// to (maximum, sum).
Status LowerSoftmax(NodeLowering& node) {
  TCC_RETURN_IF_ERROR(node.CheckInputs(1, 1));
  DType type = node.Type(0);
  TCC_RETURN_IF_ERROR(node.CheckFloats(0));
  size_t rank = node.Rank(0);
  TCC_ASSIGN_OR_RETURN(int axis, node.NormalizedAxis(node.node().Int("axis", -1), rank));
  std::vector<bool> reduced = OnlyAxis(rank, axis);
  DType computed = AccumulationType(type);
  const std::vector<Expr>& shape = node.Shape(0);
  StoredBuffer out = node.Output(0, type, shape);

  ReductionAxes in = AxesFor(node, reduced, ReducedDims::kKept);
  StoredBuffer maximum = node.Reduced("max", in.axes, in.reduce_axes, MaxCombiner(computed),
                                      CastTo(computed, node.Load(0, in.input_index)));

  auto shifted = [&](const std::vector<Expr>& at) {
    return CastTo(computed, node.Load(0, at)) - node.Load(maximum, RowOfElement(at, reduced));
  };
  // Kept, because a row of exponentials is cheaper to reload than to recompute.
  StoredBuffer power = node.Kept("exp", computed, shape);
  std::vector<Axis> axes = node.Axes(shape);
  node.Map(power, axes, CallOf(ScalarOp::kExp, {shifted(VarsOf(axes))}), "_exp");

  in = AxesFor(node, reduced, ReducedDims::kKept);
  StoredBuffer sum = node.Reduced("sum", in.axes, in.reduce_axes, SumCombiner(computed),
                                  node.Load(power, in.input_index));

  axes = node.Axes(shape);
  Expr total = node.Load(sum, RowOfElement(VarsOf(axes), reduced));
  Expr value = node.node().op == OpKind::kLogSoftmax
                   ? shifted(VarsOf(axes)) - CallOf(ScalarOp::kLog, {total})
                   : ProbabilityOf(node.Load(power, VarsOf(axes)), total);
  node.Map(out, axes, CastTo(type, value));
  return OkStatus();
}

}  // namespace tcc
