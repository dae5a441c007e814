#include "graph/passes/control_flow.h"

#include <algorithm>
#include <unordered_set>

#include "graph/passes/edit.h"
#include "support/check.h"

namespace tcc {
namespace {

void EraseAt(std::vector<ValueId>& ids, size_t index) {
  ids.erase(ids.begin() + static_cast<int64_t>(index));
}

// One of a list of numbers, if there is a list.
void EraseFrom(Node& node, const std::string& key, size_t index) {
  auto found = node.attributes.find(key);
  if (found == node.attributes.end()) return;
  auto& values = std::get<std::vector<int64_t>>(found->second);
  values.erase(values.begin() + static_cast<int64_t>(index));
  if (values.empty()) node.attributes.erase(found);
}

void RemoveCapture(Node& node, size_t capture) {
  EraseAt(node.inputs, FirstCaptured(node) + capture);
  for (Graph& body : node.bodies) EraseAt(body.inputs, FirstCapturedInput(node) + capture);
}

size_t CaptureCount(const Node& node) {
  return node.inputs.size() - FirstCaptured(node);
}

// Whether anything in the body reads the value: an operand, a result, or a body within.
bool IsRead(const Graph& body, ValueId id) {
  if (std::find(body.outputs.begin(), body.outputs.end(), id) != body.outputs.end()) return true;
  return std::any_of(body.nodes.begin(), body.nodes.end(), [&](const Node& node) {
    return std::find(node.inputs.begin(), node.inputs.end(), id) != node.inputs.end();
  });
}

// A carried value that nobody wants may still be what others are computed from.
bool IsCarriedForNothing(const Node& loop, size_t carried) {
  const Graph& body = loop.bodies[0];
  ValueId before = body.inputs[2 + carried];
  std::vector<ValueId> others = body.outputs;
  EraseAt(others, 1 + carried);
  bool is_result = std::find(others.begin(), others.end(), before) != others.end();
  return !is_result && std::none_of(body.nodes.begin(), body.nodes.end(), [&](const Node& node) {
    return std::find(node.inputs.begin(), node.inputs.end(), before) != node.inputs.end();
  });
}

// Names that values of a graph must not have.
std::unordered_set<std::string> ValueNames(const Graph& graph) {
  std::unordered_set<std::string> names;
  for (const Value& value : graph.values) names.insert(value.name);
  return names;
}

}  // namespace

void SinkConstants(const Graph& graph, Node& node) {
  for (size_t c = CaptureCount(node); c > 0; --c) {
    const Tensor* constant = graph.ConstantOf(node.inputs[FirstCaptured(node) + c - 1]);
    if (constant == nullptr) continue;
    for (Graph& body : node.bodies) {
      Value& inside = body.values[body.inputs[FirstCapturedInput(node) + c - 1]];
      inside.shape = ToExprs(constant->shape);
      inside.constant = *constant;
    }
    RemoveCapture(node, c - 1);
  }
}

void RemoveUnusedCaptures(Node& node) {
  for (size_t c = CaptureCount(node); c > 0; --c) {
    bool used = std::any_of(node.bodies.begin(), node.bodies.end(), [&](const Graph& body) {
      return IsRead(body, body.inputs[FirstCapturedInput(node) + c - 1]);
    });
    if (!used) RemoveCapture(node, c - 1);
  }
}

void RemoveUnusedResults(Node& node, const std::vector<bool>& wanted) {
  size_t results_before_scans = node.op == OpKind::kLoop ? 1 : 0;
  for (size_t i = node.outputs.size(); i > 0 && node.outputs.size() > 1; --i) {
    ValueId id = node.outputs[i - 1];
    if (id != kNoValue && wanted[id]) continue;
    bool carried = node.op == OpKind::kLoop && i - 1 < PartsOf(node).carried;
    if (carried && !IsCarriedForNothing(node, i - 1)) continue;
    if (carried) {
      EraseAt(node.inputs, 2 + i - 1);
      EraseAt(node.bodies[0].inputs, 2 + i - 1);
      node.attributes["carried"] = node.Int("carried", 0) - 1;
    } else if (node.op == OpKind::kLoop) {
      size_t scan = i - 1 - PartsOf(node).carried;
      EraseFrom(node, "scan_output_directions", scan);
      EraseFrom(node, "scan_output_axes", scan);
    }
    EraseAt(node.outputs, i - 1);
    for (Graph& body : node.bodies) EraseAt(body.outputs, results_before_scans + i - 1);
  }
}

std::vector<Node> InlineBody(Graph& graph, Graph body, const std::vector<ValueId>& inputs,
                             const std::vector<ValueId>& results, const std::string& suffix) {
  TCC_CHECK(body.inputs.size() == inputs.size() && body.outputs.size() == results.size());
  std::unordered_set<std::string> names = ValueNames(graph);
  std::vector<ValueId> ids(body.values.size(), kNoValue);
  for (size_t i = 0; i < inputs.size(); ++i) ids[body.inputs[i]] = inputs[i];
  for (const Node& node : body.nodes) {
    for (ValueId output : node.outputs) {
      auto result = std::find(body.outputs.begin(), body.outputs.end(), output);
      if (output == kNoValue || result == body.outputs.end()) continue;
      ids[output] = results[result - body.outputs.begin()];
    }
  }
  for (size_t id = 0; id < body.values.size(); ++id) {
    if (ids[id] != kNoValue) continue;
    Value value = std::move(body.values[id]);
    value.name += suffix;
    std::string hint = value.name;
    for (int i = 1; !names.insert(value.name).second; ++i) {
      value.name = fmt::format("{}_{}", hint, i);
    }
    ids[id] = graph.AddValue(std::move(value));
  }
  std::vector<Node> nodes = std::move(body.nodes);
  for (Node& node : nodes) {
    node.name += suffix;
    for (std::vector<ValueId>* list : {&node.inputs, &node.outputs}) {
      for (ValueId& id : *list) {
        if (id != kNoValue) id = ids[id];
      }
    }
  }
  for (size_t i = 0; i < results.size(); ++i) {
    ValueId id = ids[body.outputs[i]];
    if (results[i] == kNoValue || results[i] == id) continue;
    Node copy;
    copy.name = graph.value(results[i]).name;
    copy.op = OpKind::kIdentity;
    copy.inputs = {id};
    copy.outputs = {results[i]};
    nodes.push_back(std::move(copy));
  }
  return nodes;
}

std::optional<int64_t> KnownTripCount(const Graph& graph, const Node& loop) {
  std::optional<int64_t> count;
  if (loop.inputs[0] != kNoValue) {
    const Tensor* limit = graph.ConstantOf(loop.inputs[0]);
    if (limit == nullptr || limit->bytes.size() != sizeof(int64_t)) return std::nullopt;
    count = std::max<int64_t>(ElementAsInt(*limit, 0), 0);
  }
  LoopParts parts = PartsOf(loop);
  std::vector<int64_t> axes = loop.Ints("scan_input_axes");
  for (size_t i = 0; i < parts.scan_inputs; ++i) {
    const std::vector<Expr>& shape = graph.value(loop.inputs[parts.first_scan_input() + i]).shape;
    int64_t rank = static_cast<int64_t>(shape.size());
    int64_t axis = axes[i] < 0 ? axes[i] + rank : axes[i];
    if (axis < 0 || axis >= rank || !AsConstant(shape[axis])) return std::nullopt;
    count = std::min(count.value_or(INT64_MAX), *AsConstant(shape[axis]));
  }
  return count;
}

ValueId BehindIdentities(const Graph& graph, ValueId id) {
  std::vector<int> producers = ProducersOf(graph);
  while (producers[id] >= 0 && graph.nodes[producers[id]].op == OpKind::kIdentity) {
    id = graph.nodes[producers[id]].inputs[0];
  }
  return id;
}

std::optional<bool> KnownBool(const Graph& graph, ValueId id) {
  const Tensor* constant = graph.ConstantOf(id);
  if (constant == nullptr || constant->bytes.size() != 1) return std::nullopt;
  return constant->bytes[0] != 0;
}

}  // namespace tcc
