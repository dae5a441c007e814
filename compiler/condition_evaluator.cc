#include "compiler/condition_evaluator.h"

#include <algorithm>
#include <unordered_map>

#include "graph/ops/shape_operands.h"
#include "graph/passes/control_flow.h"
#include "graph/passes/infer_control_flow.h"
#include "graph/passes/infer_shapes.h"

namespace tcc {
namespace {

// The most nodes of a graph to search for one condition, summed over all conditions of a model.
constexpr int64_t kMaxNodesSearched = int64_t{1} << 24;
// The most nodes whose shapes are inferred, summed likewise: some seconds. Only failures repeat
// work.
constexpr int64_t kMaxNodesInferred = int64_t{1} << 17;

using Values = std::unordered_map<ValueId, Value>;

// The nodes that compute one value from inputs and from values with known shapes, with copies of
// all values that they name.
class Part {
 public:
  Part(const Graph& whole, const Values& known) : whole_(whole), known_(known) {
    graph_.shape_vars = whole.shape_vars;
  }

  void AddBehind(ValueId result) {
    graph_.outputs = {Copied(result)};
    for (auto node = whole_.nodes.rbegin(); node != whole_.nodes.rend(); ++node) {
      bool wanted = std::any_of(node->outputs.begin(), node->outputs.end(), [&](ValueId output) {
        return copies_.contains(output) && !known_.contains(output);
      });
      if (wanted) graph_.nodes.push_back(Copied(*node));
    }
    std::reverse(graph_.nodes.begin(), graph_.nodes.end());
  }

  Graph& graph() { return graph_; }
  // Returns the copies, by the value of the whole graph.
  const std::unordered_map<ValueId, ValueId>& copies() const { return copies_; }

 private:
  Node Copied(const Node& node) {
    Node copy = node;
    for (ValueId& id : copy.inputs) id = Copied(id);
    for (ValueId& id : copy.outputs) id = Copied(id);
    return copy;
  }

  ValueId Copied(ValueId id) {
    if (id == kNoValue) return kNoValue;
    auto [copy, added] = copies_.emplace(id, kNoValue);
    if (!added) return copy->second;
    auto known = known_.find(id);
    copy->second = graph_.AddValue(known == known_.end() ? whole_.value(id) : known->second);
    return copy->second;
  }

  const Graph& whole_;
  const Values& known_;
  Graph graph_;
  std::unordered_map<ValueId, ValueId> copies_;
};

// Conditions of one growing graph: a value's shape is inferred once.
class Evaluator {
 public:
  ConditionFacts FactsOf(const Graph& graph, ValueId condition) {
    searched_ += static_cast<int64_t>(graph.nodes.size());
    if (searched_ > kMaxNodesSearched) return {};
    ConditionFacts facts;
    for (ValueId input : InputsBehind(graph, {condition})) {
      facts.inputs.push_back(graph.value(input).name);
    }
    Part part(graph, known_);
    part.AddBehind(condition);
    Graph& behind = part.graph();
    inferred_ += static_cast<int64_t>(behind.nodes.size());
    if (inferred_ > kMaxNodesInferred) return facts;
    // A failure is reported when the shapes of the whole graph are inferred.
    if (!InferShapes(behind, budget_).ok()) return facts;
    for (const auto& [id, copy] : part.copies()) {
      if (!graph.ConstantOf(id)) known_.insert_or_assign(id, behind.value(copy));
    }
    FoldCondition(behind, behind.outputs[0], budget_);
    facts.value = KnownBool(behind, behind.outputs[0]);
    return facts;
  }

 private:
  Values known_;
  int64_t searched_ = 0;
  int64_t inferred_ = 0;
  InferenceBudget budget_;
};

}  // namespace

ConditionFunction ConditionEvaluator() {
  return [evaluator = Evaluator()](const Graph& graph, ValueId condition) mutable {
    return evaluator.FactsOf(graph, condition);
  };
}

}  // namespace tcc
