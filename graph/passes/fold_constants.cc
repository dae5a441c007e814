#include <algorithm>
#include <set>
#include <unordered_map>

#include "graph/passes/control_flow.h"
#include "graph/passes/edit.h"
#include "graph/passes/evaluate.h"
#include "graph/passes/passes.h"

namespace tcc {
namespace {

// The block instances that folding one node may take; a FoldBudget is for all nodes.
constexpr int64_t kMaxInstances = int64_t{1} << 22;

int64_t BytesOf(const std::vector<Tensor>& tensors) {
  int64_t bytes = 0;
  for (const Tensor& tensor : tensors) bytes += static_cast<int64_t>(tensor.bytes.size());
  return bytes;
}

// Folds constants. Counts the remaining readers of each constant's bytes, to know what folding a
// node frees.
class ConstantFolder {
 public:
  ConstantFolder(Graph& graph, FoldBudget& budget) : graph_(graph), budget_(budget) {
    ValueUses uses = UsesOf(graph);
    readers_.resize(graph.values.size());
    for (size_t id = 0; id < readers_.size(); ++id) {
      readers_[id] = static_cast<int>(uses.readers[id].size()) + (uses.is_output[id] ? 1 : 0);
      if (readers_[id] > 0 && graph.values[id].constant) ++holders_[BytesAt(id)];
    }
  }

  Status Run() {
    std::vector<Node> kept;
    for (Node& node : graph_.nodes) {
      TCC_ASSIGN_OR_RETURN(bool folded, Fold(node));
      if (!folded) kept.push_back(std::move(node));
    }
    graph_.nodes = std::move(kept);
    return OkStatus();
  }

 private:
  const uint8_t* BytesAt(size_t id) const { return graph_.values[id].constant->bytes.data(); }

  std::set<ValueId> Operands(const Node& node) const {
    std::set<ValueId> ids(node.inputs.begin(), node.inputs.end());
    ids.erase(kNoValue);
    return ids;
  }

  // Returns the bytes of operands that nobody else reads and whose bytes no other value shares.
  int64_t FreedBytes(const Node& node) const {
    int64_t bytes = 0;
    for (ValueId id : Operands(node)) {
      const Tensor* constant = graph_.ConstantOf(id);
      if (constant && readers_[id] == 1 && holders_.at(BytesAt(id)) == 1) {
        bytes += static_cast<int64_t>(constant->bytes.size());
      }
    }
    return bytes;
  }

  StatusOr<bool> Fold(const Node& node) {
    if (!IsComputable(graph_, node)) return false;
    int64_t freed = FreedBytes(node);
    int64_t issued = 0;
    EvaluationLimits limits{.max_bytes = budget_.bytes + freed,
                            .max_instances = std::min(kMaxInstances, budget_.instances),
                            .issued = &issued};
    if (limits.max_instances <= 0) return false;
    StatusOr<std::vector<Tensor>> results = EvaluateNode(graph_, node, limits);
    budget_.instances -= issued;
    if (results.status().code() == absl::StatusCode::kResourceExhausted) return false;
    if (!results.ok()) return results.status();
    for (ValueId id : Operands(node)) {
      if (--readers_[id] == 0 && graph_.ConstantOf(id)) Release(id);
    }
    bool shares = Hold(node, *results);
    if (!shares) budget_.bytes -= std::max<int64_t>(0, BytesOf(*results) - freed);
    return true;
  }

  void Release(ValueId id) {
    auto holder = holders_.find(BytesAt(id));
    // Erase it, or other bytes that are later allocated at this address would look shared.
    if (--holder->second == 0) holders_.erase(holder);
    graph_.values[id].constant.reset();
  }

  // Stores the results. Returns whether one has an operand's bytes under another shape.
  bool Hold(const Node& node, const std::vector<Tensor>& results) {
    bool shares = false;
    for (size_t i = 0; i < node.outputs.size(); ++i) {
      if (node.outputs[i] == kNoValue) continue;
      graph_.values[node.outputs[i]].constant = results[i];
      auto [holder, absent] = holders_.emplace(results[i].bytes.data(), 0);
      shares = shares || !absent;
      ++holder->second;
    }
    return shares;
  }

  Graph& graph_;
  FoldBudget& budget_;
  std::vector<int> readers_;                         // by value, the graph's outputs included
  std::unordered_map<const uint8_t*, int> holders_;  // by bytes: the values still read
};

}  // namespace

namespace {

// Runs a pass on the graph, then on all its bodies, which share the budget: a model may have any
// number of them. Values that the pass made constant outside are constant inside by then.
Status RunWithin(FoldBudget& budget, Graph& graph, Status (*run)(Graph&, FoldBudget&)) {
  TCC_RETURN_IF_ERROR(run(graph, budget));
  for (Node& node : graph.nodes) {
    if (node.bodies.empty()) continue;
    SinkConstants(graph, node);
    for (Graph& body : node.bodies) TCC_RETURN_IF_ERROR(RunWithin(budget, body, run));
  }
  return OkStatus();
}

Status SimplifyWithin(Graph& graph, FoldBudget& budget) {
  for (size_t before = SIZE_MAX; graph.nodes.size() < before;) {
    before = graph.nodes.size();
    TCC_RETURN_IF_ERROR(RemoveIdentities(graph));
    TCC_RETURN_IF_ERROR(FoldConstants(graph, budget));
    TCC_RETURN_IF_ERROR(EliminateCommonSubexpressions(graph));
  }
  return OkStatus();
}

}  // namespace

Status FoldConstants(Graph& graph, FoldBudget& budget) {
  TCC_RETURN_IF_ERROR(ConstantFolder(graph, budget).Run());
  return RemoveDead(graph);
}

Status FoldConstants(Graph& graph) {
  FoldBudget budget;
  return RunWithin(budget, graph, FoldConstants);
}

Status SimplifyToFixedPoint(Graph& graph) {
  FoldBudget budget;
  return RunWithin(budget, graph, SimplifyWithin);
}

}  // namespace tcc
