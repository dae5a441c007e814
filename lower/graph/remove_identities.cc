#include <algorithm>

#include "lower/graph/edit.h"
#include "lower/graph/passes.h"
#include "lower/ops/node_lowering.h"

namespace tcc {
namespace {

bool SameShape(const Value& a, const Value& b) {
  return std::equal(a.shape.begin(), a.shape.end(), b.shape.begin(), b.shape.end(), SameExtent);
}

bool KeepsOrder(const Node& node, size_t rank) {
  std::vector<int64_t> perm = node.Ints("perm");
  return (perm.empty() && rank < 2) || (!perm.empty() && std::is_sorted(perm.begin(), perm.end()));
}

bool IsIdentity(const Graph& graph, const Node& node) {
  const Value& in = graph.value(node.inputs[0]);
  const Value& out = graph.value(node.outputs[0]);
  bool same_shape = in.dtype == out.dtype && SameShape(in, out);
  bool only_operand = std::all_of(node.inputs.begin() + 1, node.inputs.end(),
                                  [](ValueId id) { return id == kNoValue; });
  if (node.op == OpKind::kIdentity) return true;
  if (node.op == OpKind::kDropout) {
    return std::all_of(node.outputs.begin() + 1, node.outputs.end(),
                       [](ValueId id) { return id == kNoValue; });
  }
  if (node.op == OpKind::kCast || node.op == OpKind::kExpand || node.op == OpKind::kReshape ||
      node.op == OpKind::kFlatten) {
    return same_shape;
  }
  if (node.op == OpKind::kTranspose) return KeepsOrder(node, in.shape.size());
  return node.op == OpKind::kClip && only_operand;
}

bool IsIn(const std::vector<ValueId>& ids, ValueId id) {
  return std::find(ids.begin(), ids.end(), id) != ids.end();
}

// An output of the graph keeps its value: where the node makes one, its operand's producer writes
// it instead, unless the operand is itself an interface of the graph or a constant.
bool Bypass(Graph& graph, const Node& node) {
  ValueId in = node.inputs[0];
  ValueId out = node.outputs[0];
  if (!IsIn(graph.outputs, out)) {
    ReplaceUses(graph, out, in);
    return true;
  }
  if (IsIn(graph.inputs, in) || IsIn(graph.outputs, in) || graph.ConstantOf(in)) return false;
  for (Node& producer : graph.nodes) {
    if (&producer != &node) std::replace(producer.outputs.begin(), producer.outputs.end(), in, out);
  }
  ReplaceUses(graph, in, out);
  return true;
}

}  // namespace

Status RemoveIdentities(Graph& graph) {
  for (size_t n = 0; n < graph.nodes.size();) {
    Node node = graph.nodes[n];
    if (!node.inputs.empty() && node.inputs[0] != kNoValue && IsIdentity(graph, node) &&
        Bypass(graph, graph.nodes[n])) {
      graph.nodes.erase(graph.nodes.begin() + n);
    } else {
      ++n;
    }
  }
  return OkStatus();
}

}  // namespace tcc
