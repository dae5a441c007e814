#include <numeric>

#include "graph/passes/edit.h"
#include "graph/passes/passes.h"

namespace tcc {
namespace {

bool IsZero(const Tensor& tensor) {
  return ElementCount(tensor.shape).value_or(0) == 1 && ElementAsDouble(tensor, 0) == 0;
}

// Clip(x, 0) or Clip(x, 0, inf).
bool IsRelu(const Graph& graph, const Node& node) {
  if (node.op != OpKind::kClip || node.inputs.size() < 2) return false;
  const Tensor* low = graph.ConstantOf(node.inputs[1]);
  if (!low || !IsZero(*low)) return false;
  if (node.inputs.size() < 3 || node.inputs[2] == kNoValue) return true;
  const Tensor* high = graph.ConstantOf(node.inputs[2]);
  return high && high->dtype.is_float() && ElementAsDouble(*high, 0) > 0 &&
         ElementAsDouble(*high, 0) - ElementAsDouble(*high, 0) != 0;
}

}  // namespace

Status SimplifyActivations(Graph& graph) {
  for (Node& node : graph.nodes) {
    if (!IsRelu(graph, node)) continue;
    node.op = OpKind::kRelu;
    node.inputs.resize(1);
  }
  std::vector<int> producers = ProducersOf(graph);
  std::vector<bool> is_output = UsesOf(graph).is_output;
  // The value that the readers of each value use: of a Relu of a Relu, its operand.
  std::vector<ValueId> same(graph.values.size());
  std::iota(same.begin(), same.end(), 0);
  for (Node& node : graph.nodes) {
    for (ValueId& id : node.inputs) {
      if (id != kNoValue) id = same[id];
    }
    if (node.op != OpKind::kRelu || is_output[node.outputs[0]]) continue;
    int before = producers[node.inputs[0]];
    if (before < 0 || graph.nodes[before].op != OpKind::kRelu) continue;
    same[node.outputs[0]] = node.inputs[0];
  }
  return RemoveDead(graph);
}

}  // namespace tcc
