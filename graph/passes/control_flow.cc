#include "graph/passes/control_flow.h"

#include <algorithm>
#include <unordered_set>

#include "graph/ops/normal_form.h"
#include "graph/passes/edit.h"
#include "graph/passes/elements.h"
#include "graph/passes/node_writer.h"
#include "ir/graph/constants.h"
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

// Returns whether anything in the body reads the value when it runs: an operand, a result, or a
// body within.
bool IsRead(const Graph& body, ValueId id) {
  if (std::ranges::find(body.outputs, id) != body.outputs.end()) return true;
  return std::ranges::any_of(body.nodes, [&](const Node& node) {
    return std::ranges::find(node.inputs, id) != node.inputs.end() && ReadsElements(body, node, id);
  });
}

// A carried value that nobody wants may still be what others are computed from.
bool IsCarriedForNothing(const Node& loop, size_t carried) {
  const Graph& body = loop.bodies[0];
  ValueId before = body.inputs[2 + carried];
  std::vector<ValueId> others = body.outputs;
  EraseAt(others, 1 + carried);
  bool is_result = std::ranges::find(others, before) != others.end();
  return !is_result && std::ranges::none_of(body.nodes, [&](const Node& node) {
    return std::ranges::find(node.inputs, before) != node.inputs.end();
  });
}

// Names that values of a graph must not have.
std::unordered_set<std::string> ValueNames(const Graph& graph) {
  std::unordered_set<std::string> names;
  for (const Value& value : graph.values) names.insert(value.name);
  return names;
}

// A Loop is written out up to this many nodes, in a graph that is not larger already.
constexpr int64_t kMaxNodes = 1'000;
constexpr size_t kMaxValues = 100'000;

int64_t CountNodes(const Graph& graph) {
  auto count = static_cast<int64_t>(graph.nodes.size());
  for (const Node& node : graph.nodes) {
    for (const Graph& body : node.bodies) count += CountNodes(body);
  }
  return count;
}

// Returns a Loop's greatest trip count, if it is a number or a formula.
std::optional<Expr> LimitOf(const Graph& graph, ValueId id) {
  const Value& value = graph.value(id);
  if (value.elements.size() == 1) return NormalForm(graph, MaxOf(value.elements[0], Expr(0)));
  if (!value.constant || value.constant->bytes.size() != sizeof(int64_t)) return std::nullopt;
  return Expr(std::max<int64_t>(ElementAsInt(*value.constant, 0), 0));
}

// Returns how many slices the scanned operands have: they agree, so that one of them tells.
std::optional<Expr> CountOfSlices(const Graph& graph, const Node& loop) {
  LoopParts parts = PartsOf(loop);
  std::vector<int64_t> axes = loop.Ints("scan_input_axes");
  std::optional<Expr> count;
  for (size_t i = 0; i < parts.scan_inputs; ++i) {
    const std::vector<Expr>& shape = graph.value(loop.inputs[parts.first_scan_input() + i]).shape;
    int64_t rank = static_cast<int64_t>(shape.size());
    int64_t axis = axes[i] < 0 ? axes[i] + rank : axes[i];
    if (axis < 0 || axis >= rank) return std::nullopt;
    if (!count || AsConstant(shape[axis])) count = shape[axis];
  }
  return count;
}

class Unroller {
 public:
  Unroller(Graph& graph, const Node& loop, const Graph& body)
      : graph_(graph),
        loop_(loop),
        body_(body),
        parts_(PartsOf(loop)),
        operands_(loop.inputs),
        slices_(parts_.scan_outputs) {
    operands_[1] =
        NodeWriter(graph, nodes_, loop.name).Constant("condition", ScalarTensor(kBool, 1));
  }

  std::vector<Node> Unroll(int64_t trips) {
    for (int64_t t = 0; t < trips; ++t) AddIteration(t, t + 1 == trips);
    for (size_t scan = 0; scan < slices_.size(); ++scan) Stack(scan);
    return std::move(nodes_);
  }

 private:
  static ValueId Number(NodeWriter& writer, int64_t number) {
    return writer.Constant("iteration", IntScalar(number));
  }

  void AddIteration(int64_t t, bool is_last) {
    // The suffix makes names unique at once: a search for a free name visits all names in use.
    std::string suffix = fmt::format(".{}", t);
    NodeWriter writer(graph_, nodes_, loop_.name + suffix);
    std::vector<ValueId> inputs = operands_;
    inputs[0] = Number(writer, t);
    for (size_t i = 0; i < parts_.scan_inputs; ++i) {
      bool backward = RunsBackward(loop_, "scan_input_directions", i);
      ValueId& slice = inputs[parts_.first_scan_input() + i];
      ValueId index = backward ? Number(writer, -1 - t) : inputs[0];
      slice = writer.Emit(OpKind::kGather, {slice, index}, {{"axis", int64_t{0}}});
    }
    std::vector<ValueId> results = {kNoValue};
    for (size_t i = 0; i < loop_.outputs.size(); ++i) {
      bool carried = i < parts_.carried;
      bool gives = carried && is_last && loop_.outputs[i] != kNoValue;
      DType dtype = body_.value(body_.outputs[1 + i]).dtype;
      results.push_back(gives ? loop_.outputs[i]
                              : AddComputed(graph_,
                                            fmt::format("{}{}/result{}", loop_.name, suffix, i),
                                            dtype, {}));
      if (carried) operands_[2 + i] = results.back();
      if (!carried) slices_[i - parts_.carried].push_back(results.back());
    }
    for (Node& node : InlineBody(graph_, body_, inputs, results, suffix)) {
      nodes_.push_back(std::move(node));
    }
  }

  void Stack(size_t scan) {
    ValueId result = loop_.outputs[parts_.carried + scan];
    if (result == kNoValue) return;
    int64_t axis = loop_.Ints("scan_output_axes")[scan];
    std::vector<ValueId>& slices = slices_[scan];
    if (RunsBackward(loop_, "scan_output_directions", scan)) {
      std::ranges::reverse(slices);
    }
    for (size_t t = 0; t < slices.size(); ++t) {
      NodeWriter writer(graph_, nodes_, fmt::format("{}.{}/stack{}", loop_.name, t, scan));
      slices[t] = writer.Unsqueeze(slices[t], axis);
    }
    NodeWriter(graph_, nodes_, loop_.name)
        .EmitAs(result, OpKind::kConcat, slices, {{"axis", axis}});
  }

  Graph& graph_;
  const Node& loop_;
  const Graph& body_;
  LoopParts parts_;
  std::vector<Node> nodes_;
  std::vector<ValueId> operands_;             // of the next iteration
  std::vector<std::vector<ValueId>> slices_;  // of each scan output, in the order of iterations
};

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
    bool used = std::ranges::any_of(node.bodies, [&](const Graph& body) {
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
      auto result = std::ranges::find(body.outputs, output);
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
    NodeWriter(graph, nodes, "").EmitAs(results[i], OpKind::kIdentity, {id});
  }
  return nodes;
}

std::optional<Expr> TripCount(const Graph& graph, const Node& loop) {
  std::optional<Expr> slices = CountOfSlices(graph, loop);
  if (PartsOf(loop).scan_inputs > 0 && !slices) return std::nullopt;
  if (loop.inputs[0] == kNoValue) return slices;
  std::optional<Expr> limit = LimitOf(graph, loop.inputs[0]);
  if (!limit || !slices) return limit;
  std::optional<std::vector<int64_t>> numbers = AsNumbers({*limit, *slices});
  if (numbers) return Expr(std::min((*numbers)[0], (*numbers)[1]));
  return NormalForm(graph, MinOf(*slices, *limit));
}

std::optional<int64_t> KnownTripCount(const Graph& graph, const Node& loop) {
  std::optional<Expr> count = TripCount(graph, loop);
  return count ? AsConstant(*count) : std::nullopt;
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

bool MayUnroll(const Graph& graph, const Node& loop) {
  const Graph& body = loop.bodies[0];
  std::optional<int64_t> trips = KnownTripCount(graph, loop);
  bool begins = loop.inputs[1] == kNoValue || KnownBool(graph, loop.inputs[1]) == true;
  return begins && KnownBool(body, BehindIdentities(body, body.outputs[0])) == true && trips &&
         *trips > 0 && *trips <= kMaxNodes && *trips * (CountNodes(body) + 1) <= kMaxNodes &&
         graph.values.size() < kMaxValues;
}

std::vector<Node> UnrollLoop(Graph& graph, const Node& loop, const Graph& body, int64_t trips) {
  return Unroller(graph, loop, body).Unroll(trips);
}

}  // namespace tcc
