#include <algorithm>

#include "graph/passes/control_flow.h"
#include "graph/passes/elements.h"
#include "graph/passes/passes.h"

namespace tcc {
namespace {

// Values that something reads or that are an interface of the graph, given the nodes that remain.
std::vector<bool> LiveValues(const Graph& graph) {
  std::vector<bool> live(graph.values.size(), false);
  for (ValueId id : graph.inputs) live[id] = true;
  for (ValueId id : graph.outputs) live[id] = true;
  for (const Node& node : graph.nodes) {
    for (ValueId id : node.inputs) {
      if (id != kNoValue) live[id] = true;
    }
    for (ValueId id : node.outputs) {
      if (id != kNoValue) live[id] = true;
    }
  }
  return live;
}

void Renumber(std::vector<ValueId>& ids, const std::vector<ValueId>& new_ids) {
  for (ValueId& id : ids) {
    if (id != kNoValue) id = new_ids[id];
  }
}

void CompactValues(Graph& graph) {
  std::vector<bool> live = LiveValues(graph);
  std::vector<ValueId> new_ids(graph.values.size(), kNoValue);
  std::vector<Value> values;
  for (size_t id = 0; id < graph.values.size(); ++id) {
    if (!live[id]) continue;
    new_ids[id] = static_cast<ValueId>(values.size());
    values.push_back(std::move(graph.values[id]));
  }
  graph.values = std::move(values);
  Renumber(graph.inputs, new_ids);
  Renumber(graph.outputs, new_ids);
  for (Node& node : graph.nodes) {
    Renumber(node.inputs, new_ids);
    Renumber(node.outputs, new_ids);
  }
}

}  // namespace

Status RemoveDead(Graph& graph) {
  std::vector<bool> wanted(graph.values.size(), false);
  for (ValueId id : graph.outputs) wanted[id] = true;
  std::vector<Node> kept;
  for (size_t n = graph.nodes.size(); n > 0; --n) {
    Node& node = graph.nodes[n - 1];
    auto is_wanted = [&](ValueId id) { return id != kNoValue && wanted[id]; };
    if (std::ranges::none_of(node.outputs, is_wanted)) continue;
    if (!node.bodies.empty()) {
      RemoveUnusedResults(node, wanted);
      for (Graph& body : node.bodies) TCC_RETURN_IF_ERROR(RemoveDead(body));
      RemoveUnusedCaptures(node);
    }
    // The first output is always computed; the others are optional.
    for (size_t i = 1; i < node.outputs.size(); ++i) {
      if (!is_wanted(node.outputs[i])) node.outputs[i] = kNoValue;
    }
    for (ValueId input : node.inputs) {
      if (input != kNoValue && ReadsElements(graph, node, input)) wanted[input] = true;
    }
    kept.push_back(std::move(node));
  }
  std::ranges::reverse(kept);
  graph.nodes = std::move(kept);
  CompactValues(graph);
  return OkStatus();
}

}  // namespace tcc
