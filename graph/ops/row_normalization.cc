#include "graph/ops/lowerings.h"
#include "graph/ops/moments.h"
#include "graph/ops/reduction_axes.h"

namespace tcc {
namespace {

// Attribute "axis" and all dimensions behind it.
StatusOr<std::vector<bool>> TrailingDims(const NodeLowering& node) {
  size_t rank = node.Rank(0);
  TCC_ASSIGN_OR_RETURN(int axis, node.NormalizedAxis(node.node().Int("axis", -1), rank));
  std::vector<bool> normalized(rank, false);
  for (size_t d = axis; d < rank; ++d) normalized[d] = true;
  return normalized;
}

// Elements of input 0 that agree in all dimensions but the normalised ones.
Rows RowsOf(NodeLowering& node, const std::vector<bool>& normalized, DType computed) {
  Rows rows;
  for (size_t d = 0; d < normalized.size(); ++d) {
    rows.shape.push_back(normalized[d] ? Expr(1) : node.Shape(0)[d]);
    if (normalized[d]) rows.inner.push_back(node.Shape(0)[d]);
  }
  rows.element = [&node, normalized, computed](const std::vector<Expr>& row,
                                               const std::vector<Expr>& element) {
    std::vector<Expr> index = row;
    size_t next = 0;
    for (size_t d = 0; d < index.size(); ++d) {
      if (normalized[d]) index[d] = element[next++];
    }
    return CastTo(computed, node.Load(0, index));
  };
  return rows;
}

// Scale and bias broadcast to the input, which they must not stretch.
Status CheckParameter(NodeLowering& node, size_t input) {
  const std::vector<Expr>& shape = node.Shape(0);
  const std::vector<Expr>& own = node.Shape(input);
  bool fits = own.size() <= shape.size() && node.Type(input).is_float();
  for (size_t d = 0; fits && d < own.size(); ++d) {
    fits = IsConstant(own[d], 1) || node.Agree(own[d], shape[shape.size() - own.size() + d],
                                               fmt::format("dimensions of inputs {} and 0", input))
                                        .ok();
  }
  if (fits) return OkStatus();
  return node.Error("input {} is {} {}; expected floats that broadcast to {}", input,
                    ToString(node.Type(input)), ShapeText(own), ShapeText(shape));
}

// x * scale + bias of inputs 1 and 2, which may be absent.
Expr ScaledAndShifted(NodeLowering& node, const Expr& x, const std::vector<Axis>& axes) {
  Expr value = x;
  if (node.Has(1)) value = value * CastTo(x.dtype(), node.LoadBroadcast(1, VarsOf(axes)));
  if (node.Has(2)) value = value + CastTo(x.dtype(), node.LoadBroadcast(2, VarsOf(axes)));
  return value;
}

// The type that optional outputs have; the computation is never in a narrower one.
StatusOr<DType> StashType(const NodeLowering& node) {
  std::string name = node.node().String("stash_type", "f32");
  std::optional<DType> type = ParseDType(name);
  if (type && type->is_float()) return *type;
  return node.Error("stash_type is '{}'; expected a float type", name);
}

Expr InverseRoot(const NodeLowering& node, const Expr& square) {
  Expr epsilon = Const(square.dtype(), node.node().Float("epsilon", 1e-5));
  return Make<Div>(Const(square.dtype(), 1), CallOf(ScalarOp::kSqrt, {square + epsilon}));
}

}  // namespace

// Outputs: y and, if wanted, the rows' means and inverse deviations.
Status LowerLayerNormalization(NodeLowering& node) {
  TCC_RETURN_IF_ERROR(node.CheckInputs(2, 3));
  TCC_RETURN_IF_ERROR(node.CheckFloats(0));
  for (size_t i = 1; i < node.input_count(); ++i) {
    if (node.Has(i)) TCC_RETURN_IF_ERROR(CheckParameter(node, i));
  }
  TCC_ASSIGN_OR_RETURN(std::vector<bool> normalized, TrailingDims(node));
  TCC_ASSIGN_OR_RETURN(DType stash, StashType(node));
  DType type = node.Type(0);
  DType computed = AccumulationType(type);
  const std::vector<Expr>& shape = node.Shape(0);

  StoredBuffer out = node.Output(0, type, shape);
  Rows rows = RowsOf(node, normalized, computed);
  Moments moments(node, rows, computed);
  std::vector<Axis> axes = node.Axes(shape);
  std::vector<Expr> row = RowOfElement(VarsOf(axes), normalized);
  Expr x = moments.Centered(CastTo(computed, node.Load(0, VarsOf(axes))), row);
  Expr value = x * InverseRoot(node, moments.Variance(row));
  node.Map(out, axes, CastTo(type, ScaledAndShifted(node, value, axes)));

  axes = node.Axes(rows.shape);
  if (node.Wants(1)) {
    StoredBuffer mean = node.Output(1, stash, rows.shape);
    node.Map(mean, axes, CastTo(stash, moments.Mean(VarsOf(axes))), "_mean");
  }
  axes = node.Axes(rows.shape);
  if (node.Wants(2)) {
    StoredBuffer deviation = node.Output(2, stash, rows.shape);
    Expr inverse = InverseRoot(node, moments.Variance(VarsOf(axes)));
    node.Map(deviation, axes, CastTo(stash, inverse), "_deviation");
  }
  return OkStatus();
}

// Output 1, if wanted, is what the rows are multiplied by.
Status LowerRMSNormalization(NodeLowering& node) {
  TCC_RETURN_IF_ERROR(node.CheckInputs(2, 2));
  TCC_RETURN_IF_ERROR(node.CheckFloats(0));
  TCC_RETURN_IF_ERROR(CheckParameter(node, 1));
  TCC_ASSIGN_OR_RETURN(std::vector<bool> normalized, TrailingDims(node));
  TCC_ASSIGN_OR_RETURN(DType stash, StashType(node));
  DType computed = AccumulationType(node.Type(0));
  const std::vector<Expr>& shape = node.Shape(0);

  StoredBuffer out = node.Output(0, node.Type(1), shape);
  Rows rows = RowsOf(node, normalized, computed);
  MeanSquare square(node, rows, computed);
  std::vector<Axis> axes = node.Axes(shape);
  std::vector<Expr> row = RowOfElement(VarsOf(axes), normalized);
  Expr x = CastTo(computed, node.Load(0, VarsOf(axes)));
  Expr value = x * InverseRoot(node, square.At(row));
  node.Map(out, axes, CastTo(node.Type(1), ScaledAndShifted(node, value, axes)));

  if (node.Wants(1)) {
    std::vector<Axis> row_axes = node.Axes(rows.shape);
    StoredBuffer factor = node.Output(1, stash, rows.shape);
    Expr inverse = InverseRoot(node, square.At(VarsOf(row_axes)));
    node.Map(factor, row_axes, CastTo(stash, inverse), "_factor");
  }
  return OkStatus();
}

// (x - mean) / (deviation + 1e-9) over attribute "axes".
Status LowerMeanVarianceNormalization(NodeLowering& node) {
  TCC_RETURN_IF_ERROR(node.CheckInputs(1, 1));
  TCC_RETURN_IF_ERROR(node.CheckFloats(0));
  size_t rank = node.Rank(0);
  std::vector<bool> normalized(rank, false);
  for (int64_t axis : node.node().Ints("axes", {0, 2, 3})) {
    TCC_ASSIGN_OR_RETURN(int dim, node.NormalizedAxis(axis, rank));
    normalized[dim] = true;
  }
  DType type = node.Type(0);
  DType computed = AccumulationType(type);
  const std::vector<Expr>& shape = node.Shape(0);
  StoredBuffer out = node.Output(0, type, shape);
  std::vector<Axis> axes = node.Axes(shape);
  Rows rows = RowsOf(node, normalized, computed);
  if (rows.inner.empty()) {
    // Over no axes every element is its own mean; what is not finite leaves NaN.
    Expr x = CastTo(computed, node.Load(0, VarsOf(axes)));
    node.Map(out, axes, CastTo(type, Make<Sub>(x, x)));
    return OkStatus();
  }
  Moments moments(node, rows, computed);
  std::vector<Expr> row = RowOfElement(VarsOf(axes), normalized);
  Expr deviation = CallOf(ScalarOp::kSqrt, {moments.Variance(row)}) + Const(computed, 1e-9);
  Expr x = moments.Centered(CastTo(computed, node.Load(0, VarsOf(axes))), row);
  node.Map(out, axes, CastTo(type, Make<Div>(x, deviation)));
  return OkStatus();
}

// x divided by the sum of magnitudes (p = 1) or its Euclidean length (p = 2) along an axis; 0 where
// that is 0.
Status LowerLpNormalization(NodeLowering& node) {
  TCC_RETURN_IF_ERROR(node.CheckInputs(1, 1));
  TCC_RETURN_IF_ERROR(node.CheckFloats(0));
  size_t rank = node.Rank(0);
  TCC_ASSIGN_OR_RETURN(int axis, node.NormalizedAxis(node.node().Int("axis", -1), rank));
  int64_t p = node.node().Int("p", 2);
  if (p != 1 && p != 2) return node.Error("p is {}; expected 1 or 2", p);
  std::vector<bool> reduced = OnlyAxis(rank, axis);
  ReductionAxes in = AxesFor(node, reduced, ReducedDims::kKept);
  DType type = node.Type(0);
  DType computed = AccumulationType(type);

  StoredBuffer out = node.Output(0, type, node.Shape(0));
  Expr x = CastTo(computed, node.Load(0, in.input_index));
  StoredBuffer sum = node.Reduced("sum", in.axes, in.reduce_axes, SumCombiner(computed),
                                  p == 1 ? CallOf(ScalarOp::kAbs, {x}) : x * x);

  std::vector<Axis> axes = node.Axes(node.Shape(0));
  Expr length = node.Load(sum, RowOfElement(VarsOf(axes), reduced));
  if (p == 2) length = CallOf(ScalarOp::kSqrt, {length});
  Expr zero = Const(computed, 0);
  Expr quotient = Make<Div>(CastTo(computed, node.Load(0, VarsOf(axes))), length);
  node.Map(out, axes, CastTo(type, SelectOf(Make<Eq>(length, zero), zero, quotient)));
  return OkStatus();
}

}  // namespace tcc
