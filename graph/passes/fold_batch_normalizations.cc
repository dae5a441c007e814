#include <algorithm>
#include <cmath>

#include "graph/passes/edit.h"
#include "graph/passes/passes.h"
#include "support/check.h"

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

// The weights times scale[m] wherever they belong to output channel m: [M, C/group, ...], of a
// ConvTranspose [C, M/group, ...].
Tensor ScaledWeights(const Node& conv, const Tensor& weight, const std::vector<double>& scale) {
  Tensor result = MakeZeroTensor(weight.dtype, weight.shape);
  int64_t channels = static_cast<int64_t>(scale.size());
  int64_t columns = 1;
  for (size_t d = 2; d < weight.shape.size(); ++d) columns *= weight.shape[d];
  bool transposed = conv.op == OpKind::kConvTranspose;
  int64_t rows_a_group = weight.shape[0] / conv.Int("group", 1);
  for (int64_t row = 0; row < weight.shape[0]; ++row) {
    for (int64_t i = 0; i < weight.shape[1]; ++i) {
      int64_t channel = transposed ? row / rows_a_group * weight.shape[1] + i : row;
      TCC_CHECK(channel < channels);
      int64_t begin = (row * weight.shape[1] + i) * columns;
      for (int64_t at = begin; at < begin + columns; ++at) {
        SetElement(result, at, ElementAsDouble(weight, at) * scale[channel]);
      }
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
  Tensor new_weight = ScaledWeights(conv, *weight, affine.scale);
  conv.inputs.resize(3, kNoValue);
  conv.inputs[1] = AddConstant(graph, conv.name + ".weight", new_weight);
  conv.inputs[2] = AddConstant(graph, conv.name + ".bias", new_bias);
  conv.outputs = {node.outputs[0]};
  return true;
}

// Mul and Add with constants of shape [C, 1, ...]; [1] for a batch of plain numbers.
std::vector<Node> ScaleAndShift(Graph& graph, const Node& node, const ChannelScale& affine) {
  Value out = graph.value(node.outputs[0]);
  std::vector<int64_t> shape(std::max<size_t>(out.shape.size(), 2) - 1, 1);
  shape[0] = static_cast<int64_t>(affine.scale.size());
  ValueId scale =
      AddConstant(graph, node.name + ".scale", ChannelTensor(out.dtype, shape, affine.scale));
  ValueId shift =
      AddConstant(graph, node.name + ".shift", ChannelTensor(out.dtype, shape, affine.shift));
  ValueId scaled = AddComputed(graph, node.name + ".scaled", out.dtype, out.shape);
  return {{.name = node.name + ".mul",
           .op = OpKind::kMul,
           .inputs = {node.inputs[0], scale},
           .outputs = {scaled}},
          {.name = node.name,
           .op = OpKind::kAdd,
           .inputs = {scaled, shift},
           .outputs = {node.outputs[0]}}};
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
      bool is_conv = node.op == OpKind::kConv || node.op == OpKind::kConvTranspose;
      if (is_conv) conv_of[node.outputs[0]] = static_cast<int>(nodes.size());
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
