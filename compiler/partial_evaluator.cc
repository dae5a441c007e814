#include "compiler/partial_evaluator.h"

#include <algorithm>
#include <unordered_map>

#include "graph/ops/shape_operands.h"
#include "graph/passes/infer_control_flow.h"
#include "graph/passes/infer_shapes.h"

namespace tcc {
namespace {

// The most nodes of a graph to search for one value, summed over all values of a model that are
// asked for.
constexpr int64_t kMaxNodesSearched = int64_t{1} << 24;
// The most nodes whose shapes are inferred, summed likewise: some seconds. Only failures repeat
// work.
constexpr int64_t kMaxNodesInferred = int64_t{1} << 17;
// The most elements of a value that is evaluated: the extents of the parts of a split.
constexpr int64_t kMaxElements = 4096;

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
      bool wanted = std::ranges::any_of(node->outputs, [&](ValueId output) {
        return copies_.contains(output) && !known_.contains(output);
      });
      if (wanted) graph_.nodes.push_back(Copied(*node));
    }
    std::ranges::reverse(graph_.nodes);
    for (ValueId input : whole_.inputs) {
      if (auto copy = copies_.find(input); copy != copies_.end()) {
        graph_.inputs.push_back(copy->second);
      }
    }
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

// Returns whether the structure of a model may depend on the value: a condition, a position, a list
// of extents. Others are not worth evaluating during the import.
bool MayDecideStructure(const Value& value) {
  std::optional<std::vector<int64_t>> shape = StaticShape(value);
  bool has_type = value.dtype.is_integer() || value.dtype.is_bool();
  return has_type && shape && ElementCount(*shape).value_or(kMaxElements + 1) <= kMaxElements;
}

// Values of one growing graph: the shape of each is inferred once.
class Evaluator {
 public:
  ValueFacts FactsOf(const Graph& graph, ValueId wanted) {
    ValueFacts facts{.shape = Unsupported("the model is too large to infer shapes on import")};
    searched_ += static_cast<int64_t>(graph.nodes.size());
    if (searched_ > kMaxNodesSearched) return facts;
    for (ValueId input : InputsBehind(graph, {wanted})) {
      facts.inputs.push_back(graph.value(input).name);
    }
    Part part(graph, known_);
    part.AddBehind(wanted);
    Graph& behind = part.graph();
    inferred_ += static_cast<int64_t>(behind.nodes.size());
    if (inferred_ > kMaxNodesInferred) return facts;
    if (Status inferred = InferShapes(behind, budget_); !inferred.ok()) {
      facts.shape = inferred;
      return facts;
    }
    for (const auto& [id, copy] : part.copies()) {
      if (!graph.ConstantOf(id)) known_.insert_or_assign(id, behind.value(copy));
    }
    const Value& value = behind.value(behind.outputs[0]);
    if (MayDecideStructure(value)) FoldValue(behind, behind.outputs[0], budget_);
    facts.shape = value.shape;
    facts.constant = value.constant;
    return facts;
  }

 private:
  Values known_;
  int64_t searched_ = 0;
  int64_t inferred_ = 0;
  InferenceBudget budget_;
};

}  // namespace

ValueFactsFunction PartialEvaluator() {
  return [evaluator = Evaluator()](const Graph& graph, ValueId value) mutable {
    return evaluator.FactsOf(graph, value);
  };
}

}  // namespace tcc
