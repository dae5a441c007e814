#include <algorithm>

#include "graph/ops/node_lowering.h"
#include "graph/passes/edit.h"
#include "graph/passes/passes.h"
#include "graph/passes/pattern.h"

namespace tcc {
namespace {

// The first of the trailing dimensions that a reduction goes over and keeps as ones; nullopt for
// any other dimensions.
std::optional<int64_t> FirstReduced(const Graph& graph, const Node& reduce) {
  auto rank = static_cast<int64_t>(graph.value(reduce.inputs[0]).shape.size());
  const Tensor* axes = reduce.inputs.size() > 1 ? graph.ConstantOf(reduce.inputs[1]) : nullptr;
  if (reduce.Int("keepdims", 1) == 0 || !axes) return std::nullopt;
  std::set<int64_t> dims;
  for (int64_t i = 0; i < ElementCount(axes->shape).value_or(0); ++i) {
    int64_t axis = ElementAsInt(*axes, i);
    dims.insert(axis < 0 ? axis + rank : axis);
  }
  auto count = static_cast<int64_t>(dims.size());
  bool trailing = count > 0 && *dims.begin() == rank - count && *dims.rbegin() == rank - 1;
  return trailing ? std::optional(rank - count) : std::nullopt;
}

// The value as a parameter of exactly this shape: itself, or a constant without its leading ones.
std::optional<ValueId> AsParameter(Graph& graph, ValueId id, std::span<const Expr> shape) {
  const Value& value = graph.value(id);
  if (SameShape(value.shape, shape)) return id;
  if (!value.constant || value.shape.size() <= shape.size()) return std::nullopt;
  size_t extra = value.shape.size() - shape.size();
  std::span<const Expr> dims(value.shape);
  bool ones = std::all_of(dims.begin(), dims.begin() + static_cast<int64_t>(extra),
                          [](const Expr& dim) { return IsConstant(dim, 1); });
  if (!ones || !SameShape(dims.subspan(extra), shape)) return std::nullopt;
  std::vector<int64_t> rest(value.constant->shape.begin() + static_cast<int64_t>(extra),
                            value.constant->shape.end());
  return AddConstant(graph, value.name + ".parameter", ReshapedTensor(*value.constant, rest));
}

// A constant [C, 1, ...] over the dimensions of x from the second on, as [C].
std::optional<ValueId> AsChannels(Graph& graph, ValueId id, const std::vector<Expr>& x) {
  const Value& value = graph.value(id);
  std::optional<int64_t> channels = AsConstant(x[1]);
  if (!value.constant || !channels || value.shape.size() > x.size()) return std::nullopt;
  for (size_t d = 0; d < value.shape.size(); ++d) {
    bool is_channel = d + x.size() - value.shape.size() == 1;
    if (!IsConstant(value.shape[d], is_channel ? *channels : 1)) return std::nullopt;
  }
  if (ElementCount(value.constant->shape).value_or(0) != *channels) return std::nullopt;
  return AddConstant(graph, value.name + ".channels", ReshapedTensor(*value.constant, {*channels}));
}

ValueId Ones(Graph& graph, const std::string& name, DType type, std::span<const Expr> shape) {
  std::vector<int64_t> dims;
  for (const Expr& dim : shape) dims.push_back(AsConstant(dim).value_or(0));
  Tensor ones = MakeZeroTensor(type, dims);
  for (int64_t i = 0; i < ElementCount(dims).value_or(0); ++i) SetElement(ones, i, 1);
  return AddConstant(graph, name + ".ones", ones);
}

bool IsStatic(std::span<const Expr> shape) {
  return std::ranges::all_of(shape, [](const Expr& dim) { return AsConstant(dim).has_value(); });
}

// (x - mean(x)) / sqrt(mean((x - mean(x))^2) + epsilon), or times the reciprocal of that.
Pattern Normalized() {
  Pattern x = AnyValue("x");
  Pattern centred = NodePattern(OpKind::kSub, {x, NodePattern(OpKind::kReduceMean, {x}, "mean")});
  Pattern variance = NodePattern(OpKind::kReduceMean, {Square(centred)}, "variance");
  Pattern root =
      NodePattern(OpKind::kSqrt, {NodePattern(OpKind::kAdd, {variance, AnyNumber("epsilon")})});
  return Either(
      {NodePattern(OpKind::kDiv, {centred, root}),
       NodePattern(OpKind::kMul, {centred, NodePattern(OpKind::kReciprocal, {root})}),
       NodePattern(OpKind::kMul, {centred, NodePattern(OpKind::kDiv, {Number(1), root})})});
}

Pattern NormalizedScaled() {
  return NodePattern(OpKind::kMul, {Normalized(), AnyValue("scale")});
}

Pattern NormalizedScaledShifted() {
  return NodePattern(OpKind::kAdd, {NormalizedScaled(), AnyValue("bias")});
}

std::optional<Node> LayerNormalization(Rewrite& rewrite) {
  Graph& graph = rewrite.graph;
  const PatternMatch& match = rewrite.match;
  ValueId x = rewrite.Bound("x");
  std::vector<Expr> shape = graph.value(x).shape;
  std::optional<int64_t> axis = FirstReduced(graph, rewrite.NodeAt("mean"));
  if (!axis || FirstReduced(graph, rewrite.NodeAt("variance")) != axis) return std::nullopt;
  std::span<const Expr> normalized = std::span(shape).subspan(static_cast<size_t>(*axis));

  Node node;
  node.inputs = {x};
  auto scale = match.values.find("scale");
  if (scale == match.values.end()) {
    if (!IsStatic(normalized)) return std::nullopt;
    node.inputs.push_back(Ones(graph, graph.value(x).name, graph.value(x).dtype, normalized));
  }
  for (const char* name : {"scale", "bias"}) {
    auto found = match.values.find(name);
    if (found == match.values.end()) continue;
    std::optional<ValueId> parameter = AsParameter(graph, found->second, normalized);
    if (!parameter) return std::nullopt;
    node.inputs.push_back(*parameter);
  }
  node.attributes["axis"] = *axis;
  node.attributes["epsilon"] = rewrite.NumberAt("epsilon");
  node.attributes["stash_type"] = std::string("f32");
  return node;
}

// x / sqrt(mean(x^2) + epsilon), or times the reciprocal of that.
Pattern RootMeanSquareNormalized() {
  Pattern x = AnyValue("x");
  Pattern mean = NodePattern(OpKind::kReduceMean, {Square(x)}, "mean");
  Pattern root =
      NodePattern(OpKind::kSqrt, {NodePattern(OpKind::kAdd, {mean, AnyNumber("epsilon")})});
  return Either({NodePattern(OpKind::kDiv, {x, root}),
                 NodePattern(OpKind::kMul, {x, NodePattern(OpKind::kReciprocal, {root})}),
                 NodePattern(OpKind::kMul, {x, NodePattern(OpKind::kDiv, {Number(1), root})})});
}

Pattern RootMeanSquareScaled() {
  return NodePattern(OpKind::kMul, {RootMeanSquareNormalized(), AnyValue("scale")});
}

// Computed in another type than it is stored in: Cast, normalize, Cast back, scale.
Pattern RootMeanSquareCastScaled() {
  return NodePattern(
      OpKind::kMul,
      {NodePattern(OpKind::kCast, {RootMeanSquareNormalized()}, "back"), AnyValue("scale")});
}

std::optional<Node> RMSNormalization(Rewrite& rewrite) {
  Graph& graph = rewrite.graph;
  const PatternMatch& match = rewrite.match;
  ValueId x = rewrite.Bound("x");
  std::vector<Expr> shape = graph.value(x).shape;
  std::optional<int64_t> axis = FirstReduced(graph, rewrite.NodeAt("mean"));
  if (!axis) return std::nullopt;
  std::optional<ValueId> scale =
      AsParameter(graph, match.values.at("scale"), std::span(shape).subspan(*axis));
  if (!scale) return std::nullopt;
  if (match.named.contains("back")) {
    // The Cast before it stays where others read it, so it is no part of the pattern.
    std::vector<int> producers = ProducersOf(graph);
    int cast = producers[x];
    if (cast < 0 || graph.nodes[cast].op != OpKind::kCast || graph.value(x).dtype != kFloat32) {
      return std::nullopt;
    }
    x = graph.nodes[cast].inputs[0];
    if (graph.value(x).dtype != graph.value(match.result).dtype) return std::nullopt;
  }
  Node node;
  node.inputs = {x, *scale};
  node.attributes["axis"] = *axis;
  node.attributes["epsilon"] = rewrite.NumberAt("epsilon");
  node.attributes["stash_type"] = std::string("f32");
  return node;
}

// An InstanceNormalization over groups of channels between two Reshapes; scale and bias of its own
// are one and zero.
Pattern GroupsNormalized() {
  Pattern groups = NodePattern(OpKind::kReshape, {AnyValue("x")}, "split");
  return NodePattern(OpKind::kReshape, {NodePattern(OpKind::kInstanceNormalization,
                                                    {groups, Number(1), Number(0)}, "norm")});
}

Pattern GroupsNormalizedScaled() {
  return NodePattern(OpKind::kMul, {GroupsNormalized(), AnyValue("scale")});
}

Pattern GroupsNormalizedScaledShifted() {
  return NodePattern(OpKind::kAdd, {GroupsNormalizedScaled(), AnyValue("bias")});
}

std::optional<Node> GroupNormalization(Rewrite& rewrite) {
  Graph& graph = rewrite.graph;
  const PatternMatch& match = rewrite.match;
  ValueId x = rewrite.Bound("x");
  std::vector<Expr> shape = graph.value(x).shape;
  std::vector<Expr> split = graph.value(rewrite.NodeAt("split").outputs[0]).shape;
  if (shape.size() < 3 || split.size() < 3 || !SameShape(shape, graph.value(match.result).shape) ||
      !SameExtent(shape[0], split[0])) {
    return std::nullopt;
  }
  std::optional<int64_t> channels = AsConstant(shape[1]);
  std::optional<int64_t> groups = AsConstant(split[1]);
  if (!channels || !groups || *groups < 1 || *channels % *groups != 0) return std::nullopt;
  std::optional<ValueId> scale = AsChannels(graph, match.values.at("scale"), shape);
  std::optional<ValueId> bias = AsChannels(graph, match.values.at("bias"), shape);
  if (!scale || !bias) return std::nullopt;
  Node node;
  node.inputs = {x, *scale, *bias};
  node.attributes["num_groups"] = *groups;
  node.attributes["epsilon"] = rewrite.NodeAt("norm").Float("epsilon", 1e-5);
  node.attributes["stash_type"] = std::string("f32");
  return node;
}

// The larger pattern first: its part would match as well.
// clang-format off
constexpr RewriteRule kRules[] = {
    // name                         root          result                         pattern                         replacement
    {"layer_norm_scale_bias",       OpKind::kAdd, OpKind::kLayerNormalization,   NormalizedScaledShifted,        LayerNormalization},
    {"layer_norm_scale",            OpKind::kMul, OpKind::kLayerNormalization,   NormalizedScaled,               LayerNormalization},
    {"layer_norm",                  OpKind::kDiv, OpKind::kLayerNormalization,   Normalized,                     LayerNormalization},
    {"layer_norm_by_reciprocal",    OpKind::kMul, OpKind::kLayerNormalization,   Normalized,                     LayerNormalization},
    {"rms_norm_scale",              OpKind::kMul, OpKind::kRMSNormalization,     RootMeanSquareScaled,           RMSNormalization},
    {"rms_norm_cast_scale",         OpKind::kMul, OpKind::kRMSNormalization,     RootMeanSquareCastScaled,       RMSNormalization},
    {"group_norm",                  OpKind::kAdd, OpKind::kGroupNormalization,   GroupsNormalizedScaledShifted,  GroupNormalization},
};
// clang-format on

}  // namespace

Status RewriteNormalizations(Graph& graph) {
  return ApplyRules(graph, kRules);
}

}  // namespace tcc
