#include <algorithm>

#include "graph/ops/lowerings.h"
#include "graph/ops/moments.h"
#include "graph/ops/reduction_axes.h"

namespace tcc {

namespace {

Status CheckFloatActivation(const NodeLowering& node, size_t least_rank) {
  TCC_RETURN_IF_ERROR(node.CheckFloats(0));
  return node.CheckLeastRank(0, least_rank);
}

// Expects channels along dimension 1; a batch of plain numbers is one channel.
Status CheckChannelParameters(NodeLowering& node) {
  Expr channels = node.Rank(0) == 1 ? Expr(1) : node.Shape(0)[1];
  for (size_t i = 1; i < 5; ++i) {
    if (node.Rank(i) != 1 || !node.Agree(node.Shape(i)[0], channels, "numbers of channels").ok()) {
      return node.Error("input {} has shape {}; expected {} channels", i, ShapeText(node.Shape(i)),
                        ShapeText({channels}));
    }
    TCC_RETURN_IF_ERROR(node.CheckFloats(i));
  }
  return OkStatus();
}

// x, already less its mean, over the root of the variance, times scale, plus bias.
Expr Standardized(NodeLowering& node, const Expr& centered, const Expr& variance, const Expr& scale,
                  const Expr& bias) {
  DType type = centered.dtype();
  Expr epsilon = Const(type, node.node().Float("epsilon", 1e-5));
  Expr deviation = CallOf(ScalarOp::kSqrt, {variance + epsilon});
  return Make<Div>(centered, deviation) * CastTo(type, scale) + CastTo(type, bias);
}

// Output `output`, if wanted: input `input` moved towards the batch's statistic.
void GiveRunningStatistic(NodeLowering& node, size_t output, size_t input,
                          const std::function<Expr(const std::vector<Expr>& row)>& statistic) {
  if (!node.Wants(output)) return;
  DType type = node.Type(input);
  std::vector<Axis> axes = node.Axes(node.Shape(input));
  Expr batch = statistic(VarsOf(axes));
  double momentum = node.node().Float("momentum", 0.9);
  Expr running = CastTo(batch.dtype(), node.Load(input, VarsOf(axes)));
  Expr value =
      running * Const(batch.dtype(), momentum) + batch * Const(batch.dtype(), 1 - momentum);
  node.Map(node.Output(output, type, node.Shape(input)), axes, CastTo(type, value),
           output == 1 ? "_mean" : "_variance");
}

// By the statistics of the batch; outputs 1 and 2 are the running ones.
Status NormalizeBatch(NodeLowering& node) {
  const std::vector<Expr>& shape = node.Shape(0);
  DType computed = AccumulationType(node.Type(0));
  StoredBuffer out = node.Output(0, node.Type(0), shape);
  Rows rows = {.shape = {shape[1]}, .inner = {shape[0]}, .element = {}};
  rows.inner.insert(rows.inner.end(), shape.begin() + 2, shape.end());
  rows.element = [&](const std::vector<Expr>& row, const std::vector<Expr>& element) {
    std::vector<Expr> index = element;
    index.insert(index.begin() + 1, row[0]);
    return CastTo(computed, node.Load(0, index));
  };
  Moments moments(node, rows, computed);
  std::vector<Axis> axes = node.Axes(shape);
  std::vector<Expr> row = {axes[1].var};
  Expr x = moments.Centered(CastTo(computed, node.Load(0, VarsOf(axes))), row);
  Expr value = Standardized(node, x, moments.Variance(row), node.Load(1, row), node.Load(2, row));
  node.Map(out, axes, CastTo(node.Type(0), value));
  GiveRunningStatistic(node, 1, 3, [&](const auto& channel) { return moments.Mean(channel); });
  GiveRunningStatistic(node, 2, 4, [&](const auto& channel) { return moments.Variance(channel); });
  return OkStatus();
}

}  // namespace

// (x - mean) / sqrt(variance + epsilon) * scale + bias, a channel at a time.
Status LowerBatchNormalization(NodeLowering& node) {
  TCC_RETURN_IF_ERROR(node.CheckInputs(5, 5));
  bool trains = node.node().Int("training_mode", 0) != 0;
  TCC_RETURN_IF_ERROR(CheckFloatActivation(node, trains ? 2 : 1));
  TCC_RETURN_IF_ERROR(CheckChannelParameters(node));
  if (trains) return NormalizeBatch(node);
  for (size_t i = 1; i < node.node().outputs.size(); ++i) {
    if (node.Wants(i))
      return node.NotSupported("output {}, which only training has, is not supported", i);
  }
  const std::vector<Expr>& shape = node.Shape(0);
  DType computed = AccumulationType(node.Type(0));
  StoredBuffer out = node.Output(0, node.Type(0), shape);
  std::vector<Axis> axes = node.Axes(shape);
  Expr channel = axes.size() == 1 ? Expr(0) : Expr(axes[1].var);
  auto parameter = [&](size_t input) { return CastTo(computed, node.Load(input, {channel})); };
  Expr x = CastTo(computed, node.Load(0, VarsOf(axes))) - parameter(3);
  Expr value = Standardized(node, x, parameter(4), parameter(1), parameter(2));
  node.Map(out, axes, CastTo(node.Type(0), value));
  return OkStatus();
}

namespace {

// Channels in `groups` groups of `width` neighbours, each normalised over its own channels and the
// spatial dimensions.
struct Groups {
  int64_t count = 1;
  int64_t width = 1;
};

// Input `input`, one number for each channel or for each group.
StatusOr<Expr> ParameterOf(NodeLowering& node, size_t input, const Groups& groups,
                           const Expr& group, const Expr& channel) {
  if (node.Rank(input) == 1) {
    const Expr& extent = node.Shape(input)[0];
    if (IsConstant(extent, groups.count * groups.width)) return node.Load(input, {channel});
    if (IsConstant(extent, groups.count)) return node.Load(input, {group});
    Expr channels(groups.count * groups.width);
    if (node.Agree(extent, channels, "numbers of channels").ok()) {
      return node.Load(input, {channel});
    }
  }
  return node.Error("input {} has shape {}; expected {} channels or {} groups", input,
                    ShapeText(node.Shape(input)), groups.count * groups.width, groups.count);
}

Status NormalizeGroups(NodeLowering& node, const Groups& groups) {
  const std::vector<Expr>& shape = node.Shape(0);
  DType type = node.Type(0);
  DType computed = AccumulationType(type);
  std::vector<Expr> inner(shape.begin() + 2, shape.end());
  if (groups.width > 1 || inner.empty()) inner.insert(inner.begin(), Expr(groups.width));
  bool has_channels = inner.size() > shape.size() - 2;

  StoredBuffer out = node.Output(0, type, shape);
  Rows rows = {.shape = {shape[0], Expr(groups.count)}, .inner = inner, .element = {}};
  rows.element = [&](const std::vector<Expr>& row, const std::vector<Expr>& element) {
    std::vector<Expr> index = row;
    if (has_channels) index[1] = Times(row[1], groups.width) + element[0];
    index.insert(index.end(), element.begin() + (has_channels ? 1 : 0), element.end());
    return CastTo(computed, node.Load(0, index));
  };
  Moments moments(node, rows, computed);

  std::vector<Axis> axes = node.Axes(shape);
  Expr channel = axes[1].var;
  Expr group = groups.width == 1 ? channel : FloorDivide(channel, Expr(groups.width));
  std::vector<Expr> row = {axes[0].var, group};
  TCC_ASSIGN_OR_RETURN(Expr scale, ParameterOf(node, 1, groups, group, channel));
  TCC_ASSIGN_OR_RETURN(Expr bias, ParameterOf(node, 2, groups, group, channel));
  Expr x = moments.Centered(CastTo(computed, node.Load(0, VarsOf(axes))), row);
  Expr value = Standardized(node, x, moments.Variance(row), scale, bias);
  node.Map(out, axes, CastTo(type, value));
  return OkStatus();
}

}  // namespace

Status LowerInstanceNormalization(NodeLowering& node) {
  TCC_RETURN_IF_ERROR(node.CheckInputs(3, 3));
  TCC_RETURN_IF_ERROR(CheckFloatActivation(node, 3));
  TCC_ASSIGN_OR_RETURN(int64_t channels, node.KnownExtent(0, 1));
  return NormalizeGroups(node, {.count = channels});
}

// Scale and bias have an element a channel, or a group as before opset 21.
Status LowerGroupNormalization(NodeLowering& node) {
  TCC_RETURN_IF_ERROR(node.CheckInputs(3, 3));
  TCC_RETURN_IF_ERROR(CheckFloatActivation(node, 2));
  TCC_ASSIGN_OR_RETURN(int64_t channels, node.KnownExtent(0, 1));
  int64_t count = node.node().Int("num_groups", 0);
  if (count < 1 || channels % count != 0) {
    return node.Error("{} groups of {} channels", count, channels);
  }
  return NormalizeGroups(node, {.count = count, .width = channels / count});
}

// y = x / (bias + alpha / size * s)^beta, where s sums the squares of `size` neighbouring channels:
// (size - 1) / 2 before, rounded down, and the rest behind.
Status LowerLRN(NodeLowering& node) {
  TCC_RETURN_IF_ERROR(node.CheckInputs(1, 1));
  TCC_RETURN_IF_ERROR(CheckFloatActivation(node, 2));
  int64_t size = node.node().Int("size", 0);
  if (size < 1) return node.Error("size is {}; expected 1 or more", size);
  const std::vector<Expr>& shape = node.Shape(0);
  // No window needs to reach further than all channels.
  int64_t channels = AsConstant(shape[1]).value_or(INT64_MAX);
  int64_t before = std::min((size - 1) / 2, channels);
  int64_t behind = std::min(size - 1 - (size - 1) / 2, channels);
  DType type = node.Type(0);
  DType computed = AccumulationType(type);

  StoredBuffer out = node.Output(0, type, shape);
  std::vector<Axis> axes = node.Axes(shape);
  Axis window = NodeLowering::MakeAxis("r", Expr(before + behind + 1));
  std::vector<Expr> index = VarsOf(axes);
  index[1] = Plus(index[1] + window.var, -before);
  Expr x = CastTo(computed, node.Load(0, index));
  StoredBuffer squares = node.Reduced("squares", axes, {window}, SumCombiner(computed), x * x,
                                      BothOf(index[1] >= Expr(0), index[1] < shape[1]));

  std::vector<Axis> out_axes = node.Axes(shape);
  double alpha = node.node().Float("alpha", 1e-4) / static_cast<double>(size);
  Expr base = Const(computed, node.node().Float("bias", 1)) +
              node.Load(squares, VarsOf(out_axes)) * Const(computed, alpha);
  Expr power = CallOf(ScalarOp::kPow, {base, Const(computed, node.node().Float("beta", 0.75))});
  Expr value = CastTo(computed, node.Load(0, VarsOf(out_axes)));
  node.Map(out, out_axes, CastTo(type, Make<Div>(value, power)));
  return OkStatus();
}

}  // namespace tcc
