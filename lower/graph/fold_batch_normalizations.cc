#include <cmath>

#include "lower/graph/edit.h"
#include "lower/graph/passes.h"

namespace tcc {
namespace {

// y = x * scale[c] + shift[c], in double.
struct ChannelScale {
  std::vector<double> scale;
  std::vector<double> shift;
};

std::optional<ChannelScale> ScaleOf(const Graph& graph, const Node& node) {
  const Tensor* parameters[4];
  for (int i = 0; i < 4; ++i) {
    parameters[i] = graph.ConstantOf(node.inputs[1 + i]);
    if (!parameters[i]) return std::nullopt;
  }
  const auto& [gamma, beta, mean, variance] = parameters;
  double epsilon = node.Float("epsilon", 1e-5);
  ChannelScale result;
  for (int64_t c = 0; c < gamma->shape[0]; ++c) {
    double scale = ElementAsDouble(*gamma, c) / std::sqrt(ElementAsDouble(*variance, c) + epsilon);
    result.scale.push_back(scale);
    result.shift.push_back(ElementAsDouble(*beta, c) - ElementAsDouble(*mean, c) * scale);
  }
  return result;
}

Tensor ChannelTensor(DType dtype, std::vector<int64_t> shape, const std::vector<double>& values) {
  Tensor tensor = MakeZeroTensor(dtype, std::move(shape));
  for (size_t c = 0; c < values.size(); ++c) {
    SetElement(tensor, static_cast<int64_t>(c), values[c]);
  }
  return tensor;
}

// Row m of the weights [M, ...] times scale[m].
Tensor ScaledRows(const Tensor& weight, const std::vector<double>& scale) {
  Tensor result = MakeZeroTensor(weight.dtype, weight.shape);
  int64_t rows = static_cast<int64_t>(scale.size());
  int64_t columns = rows == 0 ? 0 : ElementCount(weight.shape).value_or(0) / rows;
  for (int64_t m = 0; m < rows; ++m) {
    for (int64_t i = m * columns; i < (m + 1) * columns; ++i) {
      SetElement(result, i, ElementAsDouble(weight, i) * scale[m]);
    }
  }
  return result;
}

bool FoldIntoConv(Graph& graph, Node& conv, const Node& node, const ChannelScale& affine) {
  const Tensor* weight = graph.ConstantOf(conv.inputs[1]);
  ValueId bias_id = conv.inputs.size() > 2 ? conv.inputs[2] : kNoValue;
  const Tensor* bias = graph.ConstantOf(bias_id);
  if (!weight || (bias_id != kNoValue && !bias)) return false;
  std::vector<double> shift = affine.shift;
  for (size_t c = 0; bias && c < shift.size(); ++c) {
    shift[c] += ElementAsDouble(*bias, static_cast<int64_t>(c)) * affine.scale[c];
  }
  int64_t channels = static_cast<int64_t>(shift.size());
  Tensor new_bias = ChannelTensor(weight->dtype, {channels}, shift);
  Tensor new_weight = ScaledRows(*weight, affine.scale);
  conv.inputs.resize(3, kNoValue);
  conv.inputs[1] = AddConstant(graph, conv.name + ".weight", new_weight);
  conv.inputs[2] = AddConstant(graph, conv.name + ".bias", new_bias);
  conv.outputs = {node.outputs[0]};
  return true;
}

// Mul and Add with constants of shape [C, 1, ...].
std::vector<Node> ScaleAndShift(Graph& graph, const Node& node, const ChannelScale& affine) {
  Value out = graph.value(node.outputs[0]);
  std::vector<int64_t> shape(out.shape.size() - 1, 1);
  shape[0] = static_cast<int64_t>(affine.scale.size());
  ValueId scale =
      AddConstant(graph, node.name + ".scale", ChannelTensor(out.dtype, shape, affine.scale));
  ValueId shift =
      AddConstant(graph, node.name + ".shift", ChannelTensor(out.dtype, shape, affine.shift));
  ValueId scaled = AddComputed(graph, node.name + ".scaled", out.dtype, out.shape);
  Node mul;
  mul.name = node.name + ".mul";
  mul.op = OpKind::kMul;
  mul.inputs = {node.inputs[0], scale};
  mul.outputs = {scaled};
  Node add;
  add.name = node.name;
  add.op = OpKind::kAdd;
  add.inputs = {scaled, shift};
  add.outputs = {node.outputs[0]};
  return {mul, add};
}

}  // namespace

Status FoldBatchNormalizations(Graph& graph) {
  ValueUses uses = UsesOf(graph);
  std::vector<Node> nodes;
  // Where in `nodes` a value's Conv stands.
  std::vector<int> conv_of(graph.values.size(), -1);
  std::vector<Node> old = std::move(graph.nodes);
  graph.nodes.clear();
  for (Node& node : old) {
    std::optional<ChannelScale> affine;
    bool trains = node.Int("training_mode", 0) != 0;
    if (node.op == OpKind::kBatchNormalization && !trains) affine = ScaleOf(graph, node);
    if (!affine) {
      if (node.op == OpKind::kConv) conv_of[node.outputs[0]] = static_cast<int>(nodes.size());
      nodes.push_back(std::move(node));
      continue;
    }
    int conv = conv_of[node.inputs[0]];
    if (conv >= 0 && uses.HasOneReader(node.inputs[0]) &&
        FoldIntoConv(graph, nodes[conv], node, *affine)) {
      continue;
    }
    for (Node& replacement : ScaleAndShift(graph, node, *affine)) {
      nodes.push_back(std::move(replacement));
    }
  }
  graph.nodes = std::move(nodes);
  return OkStatus();
}

}  // namespace tcc
