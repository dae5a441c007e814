#include "graph/passes/fold_condition.h"

#include <algorithm>
#include <unordered_set>

#include "graph/passes/control_flow.h"
#include "graph/passes/evaluate.h"

namespace tcc {
namespace {

// The number of nodes to search before the If; a condition is computed near it.
constexpr size_t kMaxNodesBack = 4096;

// Returns the nodes that the value is computed from, by index, the last first.
std::vector<size_t> NodesBehind(const Graph& graph, ValueId value) {
  std::unordered_set<ValueId> wanted = {value};
  std::vector<size_t> behind;
  size_t first = graph.nodes.size() - std::min(graph.nodes.size(), kMaxNodesBack);
  for (size_t n = graph.nodes.size(); n > first && !wanted.empty(); --n) {
    const Node& node = graph.nodes[n - 1];
    size_t found = 0;
    for (ValueId output : node.outputs) found += wanted.erase(output);
    if (found == 0) continue;
    behind.push_back(n - 1);
    for (ValueId input : node.inputs) {
      if (input != kNoValue && graph.ConstantOf(input) == nullptr) wanted.insert(input);
    }
  }
  return behind;
}

// Returns the result of an And or Or that one operand alone decides.
std::optional<Tensor> DecidedByOne(const Graph& graph, const Node& node) {
  if (node.op != OpKind::kAnd && node.op != OpKind::kOr) return std::nullopt;
  bool deciding = node.op == OpKind::kOr;
  bool decided = std::any_of(node.inputs.begin(), node.inputs.end(),
                             [&](ValueId input) { return KnownBool(graph, input) == deciding; });
  std::optional<std::vector<int64_t>> shape = StaticShape(graph.value(node.outputs[0]));
  if (!decided || !shape || ElementCount(*shape).value_or(0) != 1) return std::nullopt;
  Tensor result = MakeZeroTensor(kBool, *shape);
  SetElementInt(result, 0, deciding ? 1 : 0);
  return result;
}

std::optional<std::vector<Tensor>> Evaluated(const Graph& graph, const Node& node,
                                             InferenceBudget& budget) {
  if (std::optional<Tensor> result = DecidedByOne(graph, node)) return std::vector{*result};
  EvaluationLimits limits;
  limits.max_instances = std::min(limits.max_instances, budget.instances);
  limits.max_bytes = std::min(limits.max_bytes, budget.bytes);
  bool spent = limits.max_instances <= 0 || limits.max_bytes <= 0;
  if (spent || !IsComputable(graph, node)) return std::nullopt;
  int64_t issued = 0;
  limits.issued = &issued;
  StatusOr<std::vector<Tensor>> results = EvaluateNode(graph, node, limits);
  budget.instances -= issued;
  if (!results.ok()) return std::nullopt;
  for (const Tensor& tensor : *results) budget.bytes -= static_cast<int64_t>(tensor.bytes.size());
  return *std::move(results);
}

}  // namespace

void FoldCondition(Graph& graph, ValueId condition, InferenceBudget& budget) {
  if (graph.ConstantOf(condition) != nullptr) return;
  std::vector<size_t> behind = NodesBehind(graph, condition);
  std::vector<size_t> folded;
  for (auto n = behind.rbegin(); n != behind.rend(); ++n) {
    const Node& node = graph.nodes[*n];
    std::optional<std::vector<Tensor>> results = Evaluated(graph, node, budget);
    if (!results) continue;
    for (size_t i = 0; i < node.outputs.size(); ++i) {
      if (node.outputs[i] != kNoValue) graph.values[node.outputs[i]].constant = (*results)[i];
    }
    folded.push_back(*n);
  }
  for (auto n = folded.rbegin(); n != folded.rend(); ++n) {
    graph.nodes.erase(graph.nodes.begin() + static_cast<int64_t>(*n));
  }
}

}  // namespace tcc
