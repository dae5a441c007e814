#include "ir/support/check.h"
#include "lower/ops/lowerings.h"

namespace tcc {
namespace {

// Which dimensions go: input 1, or all of them; with noop_with_empty_axes none.
StatusOr<std::vector<bool>> ReducedDims(const NodeLowering& node) {
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

// The axes of a reduction's output and input, and where the two meet.
struct ReductionAxes {
  std::vector<Axis> axes;         // of the output as it is stored
  std::vector<Axis> reduce_axes;  // in the order of the input's dimensions
  std::vector<Expr> input_index;
};

ReductionAxes AxesFor(const NodeLowering& node, const std::vector<bool>& reduced, bool keep) {
  ReductionAxes result;
  std::vector<Axis> names = node.Axes(node.Shape(0));
  for (size_t d = 0; d < reduced.size(); ++d) {
    if (!reduced[d]) {
      result.axes.push_back(names[d]);
      result.input_index.push_back(names[d].var);
      continue;
    }
    Axis axis = NodeLowering::MakeAxis(fmt::format("r{}", names[d].var->name), names[d].extent);
    result.reduce_axes.push_back(axis);
    result.input_index.push_back(axis.var);
    if (keep) result.axes.push_back(NodeLowering::MakeAxis(names[d].var->name, Expr(1)));
  }
  return result;
}

std::vector<Expr> ExtentsOf(const std::vector<Axis>& axes) {
  std::vector<Expr> shape;
  for (const Axis& axis : axes) shape.push_back(axis.extent);
  return shape;
}

Expr CountAs(DType type, const std::vector<Axis>& axes) {
  Expr count = Product(ExtentsOf(axes));
  std::optional<int64_t> known = AsConstant(count);
  return known ? Const(type, static_cast<double>(*known)) : CastTo(type, count);
}

Expr Quotient(const Expr& sum, const Expr& count) {
  if (sum.dtype().is_float()) return Make<Div>(sum, count);
  if (IsConstant(count, 0)) return Const(sum.dtype(), 0);
  return CallOf(ScalarOp::kTruncDiv, {sum, count});
}

}  // namespace

Status LowerReduction(NodeLowering& node) {
  TCC_RETURN_IF_ERROR(node.CheckInputs(1, 2));
  TCC_ASSIGN_OR_RETURN(std::vector<bool> reduced, ReducedDims(node));
  bool keep = node.node().Int("keepdims", 1) != 0;
  ReductionAxes in = AxesFor(node, reduced, keep);
  std::vector<Expr> shape = ExtentsOf(in.axes);
  DType type = node.Type(0);

  if (in.reduce_axes.empty()) {
    StoredBuffer out = node.Output(0, type, shape);
    node.Map(out, in.axes, node.Load(0, in.input_index));
    return OkStatus();
  }

  bool mean = node.node().op == OpKind::kReduceMean;
  bool exact = node.node().op == OpKind::kReduceMax || node.node().op == OpKind::kReduceMin;
  DType sum_type = exact ? type : AccumulationType(type);
  TCC_ASSIGN_OR_RETURN(Combiner combiner, CombinerOf(node, sum_type));
  bool epilogue = mean || sum_type != type;
  StoredBuffer out = node.Output(0, type, shape);
  StoredBuffer sum = epilogue ? node.Intermediate("sum", sum_type, shape) : out;
  node.Reduce({.outputs = {sum},
               .axes = in.axes,
               .reduce_axes = in.reduce_axes,
               .combiner = combiner,
               .values = {CastTo(sum_type, node.Load(0, in.input_index))}});
  if (!epilogue) return OkStatus();

  std::vector<Axis> axes = node.Axes(shape);
  Expr value = node.Load(sum, VarsOf(axes));
  if (mean) value = Quotient(value, CountAs(sum_type, in.reduce_axes));
  node.Map(out, axes, CastTo(type, value), mean ? "_mean" : "_round");
  return OkStatus();
}

// Softmax and LogSoftmax: one reduction to (maximum, sum of exponentials), then a map.
Status LowerSoftmax(NodeLowering& node) {
  TCC_RETURN_IF_ERROR(node.CheckInputs(1, 1));
  DType type = node.Type(0);
  if (!type.is_float()) return node.Error("input has type {}; expected floats", ToString(type));
  size_t rank = node.Rank(0);
  TCC_ASSIGN_OR_RETURN(int axis, node.NormalizedAxis(node.node().Int("axis", -1), rank));
  std::vector<bool> reduced(rank, false);
  reduced[axis] = true;
  ReductionAxes in = AxesFor(node, reduced, /*keep=*/true);
  std::vector<Expr> row_shape = ExtentsOf(in.axes);

  DType computed = AccumulationType(type);
  StoredBuffer out = node.Output(0, type, node.Shape(0));
  StoredBuffer maximum = node.Intermediate("max", computed, row_shape);
  StoredBuffer sum = node.Intermediate("sum", computed, row_shape);
  node.Reduce({.outputs = {maximum, sum},
               .axes = in.axes,
               .reduce_axes = in.reduce_axes,
               .combiner = SoftmaxCombiner(computed),
               .values = {CastTo(computed, node.Load(0, in.input_index)), Const(computed, 1)},
               .suffix = "_rows"});

  std::vector<Axis> axes = node.Axes(node.Shape(0));
  std::vector<Expr> row = VarsOf(axes);
  row[axis] = Expr(0);
  Expr shifted = CastTo(computed, node.Load(0, VarsOf(axes))) - node.Load(maximum, row);
  Expr total = node.Load(sum, row);
  Expr value = node.node().op == OpKind::kLogSoftmax
                   ? shifted - CallOf(ScalarOp::kLog, {total})
                   : Make<Div>(CallOf(ScalarOp::kExp, {shifted}), total);
  node.Map(out, axes, CastTo(type, value));
  return OkStatus();
}

}  // namespace tcc
