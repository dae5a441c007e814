#include "graph/ops/convolution.h"
#include "graph/ops/lowerings.h"

namespace tcc {
namespace {

// Weights [M, C/g, k...], or [k..., C/g, M] of a channels-last node.
StatusOr<ConvolutionShapes> ShapesOf(NodeLowering& node) {
  TCC_ASSIGN_OR_RETURN(ConvolutionOperands operands, ConvolutionOperandsOf(node));
  int64_t group = operands.group;
  int64_t out_channels = operands.first_channels;
  int64_t group_channels = operands.second_channels;
  if (node.channels_last()) std::swap(out_channels, group_channels);
  if (out_channels % group != 0) {
    return node.Error("group is {}; expected a divisor of {} output channels", group, out_channels);
  }
  if (group_channels != operands.in_channels / group) {
    return node.Error("weight has {} input channels; expected {} (input {}, group {})",
                      group_channels, operands.in_channels / group, ShapeText(node.Shape(0)),
                      group);
  }
  TCC_ASSIGN_OR_RETURN(std::vector<WindowDim> dims,
                       WindowDims(node, operands.spatial, operands.kernel, WindowRounding::kFloor));
  return ConvolutionShapes{.dims = std::move(dims),
                           .batch = operands.batch,
                           .in_channels = operands.in_channels,
                           .out_channels = out_channels,
                           .group = operands.group};
}

Status CheckIntegerOperands(const NodeLowering& node) {
  TCC_RETURN_IF_ERROR(node.CheckInputs(2, 4));
  for (size_t i : {0, 1}) {
    if (i == 1 && node.Type(i) == kFloat32 && !node.Has(3)) continue;
    if (!node.Type(i).is_integer() || node.Type(i).bits() != 8) {
      return node.Error("input {} has type {}; expected i8 or u8", i, ToString(node.Type(i)));
    }
    if (node.Has(i + 2) && node.Type(i + 2) != node.Type(i)) {
      return node.Error("zero point {} has type {}; expected {}", i, ToString(node.Type(i + 2)),
                        ToString(node.Type(i)));
    }
  }
  return OkStatus();
}

// The input channel that output channel o and c, its number within the group, read.
Expr InputChannel(const ConvolutionShapes& shapes, const Expr& o, const Expr& c) {
  if (shapes.group == 1) return c;
  int64_t inputs = shapes.in_channels / shapes.group;
  int64_t outputs = shapes.out_channels / shapes.group;
  Expr group = outputs == 1 ? o : FloorDivide(o, Expr(outputs));
  return inputs == 1 ? group : Times(group, inputs) + c;
}

std::vector<Axis> OutputAxes(const std::vector<Expr>& shape) {
  std::vector<Axis> axes = {NodeLowering::MakeAxis("n", shape[0]),
                            NodeLowering::MakeAxis("o", shape[1])};
  size_t count = shape.size() - 2;
  for (size_t d = 0; d < count; ++d) {
    axes.push_back(NodeLowering::MakeAxis(SpatialName(count, d), shape[2 + d]));
  }
  return axes;
}

// The inner side of the reduction: its axes, and the places in input and weight.
struct ConvTaps {
  std::vector<Axis> reduce_axes;
  std::vector<Expr> input;
  std::vector<Expr> weight;
  Expr inside;
};

ConvTaps TapsOf(const ConvolutionShapes& shapes, const std::vector<Axis>& axes,
                bool channels_last) {
  size_t count = shapes.dims.size();
  std::vector<Axis> kernel_axes;
  for (size_t d = 0; d < count; ++d) {
    kernel_axes.push_back(
        NodeLowering::MakeAxis(KernelName(count, d), Expr(shapes.dims[d].kernel)));
  }
  // A group of one channel (depthwise) has no loop over channels.
  int64_t group_channels = shapes.in_channels / shapes.group;
  std::vector<Axis> channel_axes;
  Expr c = 0;
  if (group_channels != 1) {
    channel_axes = {NodeLowering::MakeAxis("c", Expr(group_channels))};
    c = channel_axes[0].var;
  }

  WindowAccess access = AccessOf(shapes.dims, {axes.begin() + 2, axes.end()}, kernel_axes);
  ConvTaps taps;
  taps.inside = access.inside;
  taps.input = {axes[0].var, InputChannel(shapes, axes[1].var, c)};
  taps.input.insert(taps.input.end(), access.indices.begin(), access.indices.end());
  std::vector<Expr> kernel = VarsOf(kernel_axes);
  if (channels_last) {
    taps.weight = kernel;
    taps.weight.insert(taps.weight.end(), {c, axes[1].var});
    taps.reduce_axes = kernel_axes;
    taps.reduce_axes.insert(taps.reduce_axes.end(), channel_axes.begin(), channel_axes.end());
  } else {
    taps.weight = {axes[1].var, c};
    taps.weight.insert(taps.weight.end(), kernel.begin(), kernel.end());
    taps.reduce_axes = channel_axes;
    taps.reduce_axes.insert(taps.reduce_axes.end(), kernel_axes.begin(), kernel_axes.end());
  }
  return taps;
}

// A zero point, i32: one number, or one a channel if `channel` is given.
StatusOr<Expr> ZeroPoint(NodeLowering& node, size_t input, const Expr& channel) {
  if (!node.Has(input)) return Const(kInt32, 0);
  const std::vector<Expr>& shape = node.Shape(input);
  if (IsConstant(Product(shape), 1)) {
    return CastTo(kInt32, node.Load(input, std::vector<Expr>(shape.size(), Expr(0))));
  }
  if (!channel || shape.size() != 1) {
    return node.Error("zero point {} has shape {}; expected {}", input - 2, ShapeText(shape),
                      channel ? "one number or one a channel" : "one number");
  }
  return CastTo(kInt32, node.Load(input, {channel}));
}

Expr Difference(const Expr& value, const Expr& zero) {
  return IsConstant(zero, 0) ? value : value - zero;
}

}  // namespace

// out[n, o, x] = sum over c, k of (in - zero) * (w - zero of o) as i32, or as f32 with a weight of
// that type; the padding is the zero.
Status LowerConvInteger(NodeLowering& node) {
  TCC_RETURN_IF_ERROR(CheckIntegerOperands(node));
  TCC_ASSIGN_OR_RETURN(ConvolutionShapes shapes, ShapesOf(node));
  std::vector<Expr> out_shape = {shapes.batch, Expr(shapes.out_channels)};
  for (const WindowDim& dim : shapes.dims) out_shape.push_back(dim.output);
  if (node.Has(3) && !IsConstant(Product(node.Shape(3)), 1) &&
      !IsConstant(Product(node.Shape(3)), shapes.out_channels)) {
    return node.Error("weight's zero point has shape {}; expected {}", ShapeText(node.Shape(3)),
                      shapes.out_channels);
  }
  std::vector<Axis> axes = OutputAxes(out_shape);
  TCC_ASSIGN_OR_RETURN(Expr input_zero, ZeroPoint(node, 2, Expr()));
  TCC_ASSIGN_OR_RETURN(Expr weight_zero, ZeroPoint(node, 3, axes[1].var));
  ConvTaps taps = TapsOf(shapes, axes, node.channels_last());
  Expr input = Difference(CastTo(kInt32, node.Load(0, taps.input)), input_zero);
  Expr weight = node.Load(1, taps.weight);
  DType sum_type = weight.dtype() == kFloat32 ? kFloat32 : kInt32;
  if (sum_type == kInt32) weight = Difference(CastTo(kInt32, weight), weight_zero);
  node.Reduce({.outputs = {node.Output(0, sum_type, out_shape)},
               .axes = axes,
               .reduce_axes = taps.reduce_axes,
               .combiner = SumCombiner(sum_type),
               .values = {CastTo(sum_type, input) * weight},
               .predicate = taps.inside});
  return OkStatus();
}

// out[n, o, x] = bias[o] + sum over c, k of in[n, channel(o, c), x * s + k * d - p] * w[o, c, k]
Status LowerConv(NodeLowering& node) {
  TCC_RETURN_IF_ERROR(CheckConvolutionTypes(node));
  TCC_ASSIGN_OR_RETURN(ConvolutionShapes shapes, ShapesOf(node));
  std::vector<Expr> out_shape = {shapes.batch, Expr(shapes.out_channels)};
  for (const WindowDim& dim : shapes.dims) out_shape.push_back(dim.output);
  TCC_RETURN_IF_ERROR(CheckConvolutionBias(node, shapes.out_channels));

  DType type = node.Type(0);
  DType sum_type = AccumulationType(type);
  bool epilogue = node.Has(2) || sum_type != type;
  StoredBuffer out = node.Output(0, type, out_shape);
  StoredBuffer sum = epilogue ? node.Intermediate("sum", sum_type, out_shape) : out;
  std::vector<Axis> axes = OutputAxes(out_shape);
  ConvTaps taps = TapsOf(shapes, axes, node.channels_last());
  Expr product =
      CastTo(sum_type, node.Load(0, taps.input)) * CastTo(sum_type, node.Load(1, taps.weight));
  node.Reduce({.outputs = {sum},
               .axes = axes,
               .reduce_axes = taps.reduce_axes,
               .combiner = SumCombiner(sum_type),
               .values = {product},
               .predicate = taps.inside});
  if (!epilogue) return OkStatus();

  std::vector<Axis> out_axes = OutputAxes(out_shape);
  Expr value = node.Load(sum, VarsOf(out_axes));
  if (node.Has(2)) value = value + CastTo(sum_type, node.Load(2, {out_axes[1].var}));
  node.Map(out, out_axes, CastTo(type, value), "_bias");
  return OkStatus();
}

}  // namespace tcc
