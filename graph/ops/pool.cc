#include <functional>

#include "graph/ops/lowerings.h"
#include "graph/ops/window.h"
#include "ir/simplify/simplify.h"

namespace tcc {
namespace {

struct PoolShapes {
  std::vector<Expr> input;  // N, C, spatial...
  std::vector<WindowDim> dims;
  std::vector<Expr> output;
};

StatusOr<PoolShapes> ShapesOf(NodeLowering& node) {
  PoolShapes shapes;
  TCC_RETURN_IF_ERROR(node.CheckLeastRank(0, 3));
  shapes.input = node.Shape(0);
  std::vector<Expr> spatial(shapes.input.begin() + 2, shapes.input.end());
  std::vector<int64_t> kernel = node.node().Ints("kernel_shape");
  if (kernel.size() != spatial.size()) {
    return node.Error("kernel_shape has {} numbers; expected {}", kernel.size(), spatial.size());
  }
  WindowRounding rounding =
      node.node().Int("ceil_mode", 0) != 0 ? WindowRounding::kCeil : WindowRounding::kFloor;
  TCC_ASSIGN_OR_RETURN(shapes.dims, WindowDims(node, spatial, kernel, rounding));
  shapes.output = {shapes.input[0], shapes.input[1]};
  for (const WindowDim& dim : shapes.dims) shapes.output.push_back(dim.output);
  return shapes;
}

// The axes of a window's stage, and the place in the input.
struct PoolAccess {
  std::vector<Axis> axes;
  std::vector<Axis> kernels;
  std::vector<Expr> index;
  Expr inside;
};

PoolAccess AccessInput(const NodeLowering& node, const PoolShapes& shapes) {
  size_t count = shapes.dims.size();
  PoolAccess access;
  access.axes = node.Axes(shapes.output);
  for (size_t d = 0; d < count; ++d) {
    access.kernels.push_back(
        NodeLowering::MakeAxis(KernelName(count, d), Expr(shapes.dims[d].kernel)));
  }
  WindowAccess window =
      AccessOf(shapes.dims, {access.axes.begin() + 2, access.axes.end()}, access.kernels);
  access.index = {access.axes[0].var, access.axes[1].var};
  access.index.insert(access.index.end(), window.indices.begin(), window.indices.end());
  access.inside = window.inside;
  return access;
}

// The sum over each window of what `term` makes of an element.
StoredBuffer WindowSums(NodeLowering& node, const PoolShapes& shapes, DType sum_type,
                        const std::function<Expr(const Expr&)>& term) {
  PoolAccess access = AccessInput(node, shapes);
  StoredBuffer sum = node.Intermediate("sum", sum_type, shapes.output);
  node.Reduce({.outputs = {sum},
               .axes = access.axes,
               .reduce_axes = access.kernels,
               .combiner = SumCombiner(sum_type),
               .values = {term(CastTo(sum_type, node.Load(0, access.index)))},
               .predicate = access.inside});
  return sum;
}

// Row-major number of an input cell over all dimensions; with storage_order 1 the spatial ones
// count in column-major order.
Expr FlatIndex(const PoolShapes& shapes, const std::vector<Expr>& index, bool column_major) {
  Expr flat = index[0] * shapes.input[1] + index[1];
  size_t count = shapes.dims.size();
  if (!column_major) {
    for (size_t d = 0; d < count; ++d) flat = flat * shapes.input[2 + d] + index[2 + d];
    return flat;
  }
  for (size_t d = count; d > 0; --d) flat = flat * shapes.input[1 + d] + index[1 + d];
  return flat;
}

// How many taps of the window at `position` count in one dimension: those inside the input, or
// inside the padded input.
Expr TapCount(const WindowDim& dim, const Expr& position, bool count_padding) {
  Expr end = count_padding ? Simplify(Plus(dim.input, dim.pad_end)) : dim.input;
  Expr start = Minus(Times(position, dim.stride), dim.pad_begin);
  Expr taps = dim.kernel;
  if (MayExceed(dim.last_tap, Plus(end, -1))) {
    taps = MinOf(taps, CeilDivide(end - start, Expr(dim.dilation)));
  }
  if (!count_padding && MayExceed(dim.pad_begin, Expr(0))) {
    taps = taps - CeilDivide(MaxOf(Expr(0) - start, Expr(0)), Expr(dim.dilation));
  }
  return taps;
}

}  // namespace

Status LowerMaxPool(NodeLowering& node) {
  TCC_RETURN_IF_ERROR(node.CheckInputs(1, 1));
  DType type = node.Type(0);
  if (type.is_bool()) return node.Error("input has type bool; expected numbers");
  TCC_ASSIGN_OR_RETURN(PoolShapes shapes, ShapesOf(node));
  PoolAccess access = AccessInput(node, shapes);
  Expr value = node.Load(0, access.index);
  NodeLowering::Reduction reduction = {.outputs = {node.Output(0, type, shapes.output)},
                                       .axes = access.axes,
                                       .reduce_axes = access.kernels,
                                       .combiner = MaxCombiner(type),
                                       .values = {value},
                                       .predicate = access.inside};
  if (node.Wants(1)) {
    bool column_major = node.node().Int("storage_order", 0) == 1;
    reduction.outputs.push_back(node.Output(1, kInt64, shapes.output));
    reduction.combiner = ArgMaxCombiner(type, TieBreak::kFirst);
    reduction.values.push_back(FlatIndex(shapes, access.index, column_major));
  }
  node.Reduce(std::move(reduction));
  return OkStatus();
}

Status LowerAveragePool(NodeLowering& node) {
  TCC_RETURN_IF_ERROR(node.CheckInputs(1, 1));
  DType type = node.Type(0);
  TCC_RETURN_IF_ERROR(node.CheckFloats(0));
  TCC_ASSIGN_OR_RETURN(PoolShapes shapes, ShapesOf(node));
  DType sum_type = AccumulationType(type);
  StoredBuffer out = node.Output(0, type, shapes.output);
  StoredBuffer sum = WindowSums(node, shapes, sum_type, [](const Expr& x) { return x; });

  std::vector<Axis> axes = node.Axes(shapes.output);
  bool count_padding = node.node().Int("count_include_pad", 0) != 0;
  Expr taps = 1;
  for (size_t d = 0; d < shapes.dims.size(); ++d) {
    Expr count = TapCount(shapes.dims[d], axes[2 + d].var, count_padding);
    std::optional<int64_t> known = AsConstant(count);
    taps = known ? Times(taps, *known) : IsConstant(taps, 1) ? count : taps * count;
  }
  std::optional<int64_t> known = AsConstant(taps);
  Expr divisor = known ? Const(sum_type, static_cast<double>(*known)) : CastTo(sum_type, taps);
  Expr mean = Make<Div>(node.Load(sum, VarsOf(axes)), divisor);
  node.Map(out, axes, CastTo(type, mean), "_mean");
  return OkStatus();
}

namespace {

StatusOr<int64_t> NormOrder(const NodeLowering& node) {
  int64_t p = node.node().Int("p", 2);
  if (p < 1) return node.Error("p is {}; expected 1 or more", p);
  return p;
}

// |x|^p, what a p-norm adds up.
Expr NormTerm(const Expr& x, int64_t p) {
  if (p == 2) return x * x;
  Expr magnitude = CallOf(ScalarOp::kAbs, {x});
  if (p == 1) return magnitude;
  return CallOf(ScalarOp::kPow, {magnitude, Const(x.dtype(), static_cast<double>(p))});
}

Expr NormOfSum(const Expr& sum, int64_t p) {
  if (p == 1) return sum;
  if (p == 2) return CallOf(ScalarOp::kSqrt, {sum});
  return CallOf(ScalarOp::kPow, {sum, Const(sum.dtype(), 1.0 / static_cast<double>(p))});
}

}  // namespace

// The p-norm of each window; padding adds nothing.
Status LowerLpPool(NodeLowering& node) {
  TCC_RETURN_IF_ERROR(node.CheckInputs(1, 1));
  DType type = node.Type(0);
  TCC_RETURN_IF_ERROR(node.CheckFloats(0));
  TCC_ASSIGN_OR_RETURN(int64_t p, NormOrder(node));
  TCC_ASSIGN_OR_RETURN(PoolShapes shapes, ShapesOf(node));
  DType sum_type = AccumulationType(type);
  StoredBuffer out = node.Output(0, type, shapes.output);
  StoredBuffer sum =
      WindowSums(node, shapes, sum_type, [&](const Expr& x) { return NormTerm(x, p); });
  std::vector<Axis> axes = node.Axes(shapes.output);
  node.Map(out, axes, CastTo(type, NormOfSum(node.Load(sum, VarsOf(axes)), p)), "_norm");
  return OkStatus();
}

Status LowerGlobalPool(NodeLowering& node) {
  TCC_RETURN_IF_ERROR(node.CheckInputs(1, 1));
  DType type = node.Type(0);
  TCC_RETURN_IF_ERROR(node.CheckFloats(0));
  const std::vector<Expr>& input = node.Shape(0);
  TCC_RETURN_IF_ERROR(node.CheckLeastRank(0, 3));
  size_t count = input.size() - 2;
  std::vector<Expr> shape = {input[0], input[1]};
  shape.resize(input.size(), Expr(1));
  std::vector<Axis> axes = node.Axes(shape);
  std::vector<Axis> spatial;
  std::vector<Expr> index = {axes[0].var, axes[1].var};
  for (size_t d = 0; d < count; ++d) {
    spatial.push_back(NodeLowering::MakeAxis(KernelName(count, d), input[2 + d]));
    index.push_back(spatial.back().var);
  }

  OpKind op = node.node().op;
  TCC_ASSIGN_OR_RETURN(int64_t p, NormOrder(node));
  bool max = op == OpKind::kGlobalMaxPool;
  DType sum_type = max ? type : AccumulationType(type);
  StoredBuffer out = node.Output(0, type, shape);
  StoredBuffer result = max ? out : node.Intermediate("sum", sum_type, shape);
  Expr value = CastTo(sum_type, node.Load(0, index));
  if (op == OpKind::kGlobalLpPool) value = NormTerm(value, p);
  node.Reduce({.outputs = {result},
               .axes = axes,
               .reduce_axes = spatial,
               .combiner = max ? MaxCombiner(type) : SumCombiner(sum_type),
               .values = {value}});
  if (max) return OkStatus();

  std::vector<Axis> out_axes = node.Axes(shape);
  Expr sum = node.Load(result, VarsOf(out_axes));
  if (op == OpKind::kGlobalLpPool) {
    node.Map(out, out_axes, CastTo(type, NormOfSum(sum, p)), "_norm");
    return OkStatus();
  }
  Expr elements = Product(std::span(input).subspan(2));
  std::optional<int64_t> known = AsConstant(elements);
  Expr divisor = known ? Const(sum_type, static_cast<double>(*known)) : CastTo(sum_type, elements);
  node.Map(out, out_axes, CastTo(type, Make<Div>(sum, divisor)), "_mean");
  return OkStatus();
}

}  // namespace tcc
