#include <algorithm>
#include <map>

#include "graph/ops/op_lowering.h"
#include "graph/passes/edit.h"
#include "graph/passes/fuse_graph.h"
#include "graph/passes/passes.h"

namespace tcc {
namespace {

bool IsScalar(const Graph& graph, ValueId id) {
  const Tensor* tensor = id == kNoValue ? nullptr : graph.ConstantOf(id);
  return tensor && ElementCount(tensor->shape).value_or(0) == 1;
}

// Returns whether the node only moves elements, without change, duplication or loss.
bool OnlyMoves(const Node& node) {
  return node.op == OpKind::kTranspose || FormOf(node) == OpForm::kView;
}

class MovementSinker {
 public:
  explicit MovementSinker(Graph& graph)
      : graph_(graph), uses_(UsesOf(graph)), producers_(ProducersOf(graph)) {}

  void Run() {
    for (size_t n = 0; n < graph_.nodes.size(); ++n) {
      std::optional<size_t> operand = OnlyOperand(graph_.nodes[n]);
      if (!operand) operand = ViewedOperand(static_cast<int>(n));
      if (operand) Lift(static_cast<int>(n), *operand);
    }
    InsertViews();
  }

 private:
  // Returns the only non-scalar operand of an elementwise node, if the result has its shape.
  std::optional<size_t> OnlyOperand(const Node& node) const {
    if (!node.bodies.empty() || FormOf(node) != OpForm::kElementwise) return std::nullopt;
    if (node.outputs.size() != 1) return std::nullopt;
    std::optional<size_t> operand;
    for (size_t i = 0; i < node.inputs.size(); ++i) {
      if (node.inputs[i] == kNoValue || IsScalar(graph_, node.inputs[i])) continue;
      if (operand) return std::nullopt;
      operand = i;
    }
    if (!operand) return std::nullopt;
    const std::vector<Expr>& in = graph_.value(node.inputs[*operand]).shape;
    const std::vector<Expr>& out = graph_.value(node.outputs[0]).shape;
    bool same = SameShape(in, out);
    // Scalars of a higher rank than the operand's would add dimensions to the moved value.
    bool narrow = std::ranges::all_of(node.inputs, [&](ValueId id) {
      return id == kNoValue || graph_.value(id).shape.size() <= 1 || id == node.inputs[*operand];
    });
    return same && narrow && node.op != OpKind::kDropout ? operand : std::nullopt;
  }

  // Returns the operand of a binary node that views a contraction's result, if the other one has
  // the same shape: that one is viewed in its place.
  std::optional<size_t> ViewedOperand(int n) {
    const Node& node = graph_.nodes[n];
    if (FormOf(node) != OpForm::kElementwise || node.inputs.size() != 2) return std::nullopt;
    const std::vector<Expr>& shape = graph_.value(node.outputs[0]).shape;
    for (ValueId id : node.inputs) {
      if (id == kNoValue || !SameShape(graph_.value(id).shape, shape)) return std::nullopt;
    }
    for (size_t i : {0, 1}) {
      std::vector<int> movements = MovementsBefore(node.inputs[i]);
      const ValueId other = node.inputs[1 - i];
      auto is_view = [&](int m) { return IsView(graph_, graph_.nodes[m]); };
      if (movements.empty() || !std::ranges::all_of(movements, is_view)) continue;
      const int first = movements.back();
      const ValueId source = graph_.nodes[first].inputs[0];
      bool joins = FormOf(graph_.nodes[producers_[source]]) == OpForm::kContraction;
      if (!joins || producers_[other] >= first) continue;
      graph_.nodes[n].inputs[1 - i] = View(other, graph_.value(source).shape, first);
      return i;
    }
    return std::nullopt;
  }

  // Returns the value under another shape, computed before node `before`. The shape is copied: to
  // add values moves the others.
  // NOLINTNEXTLINE(performance-unnecessary-value-param)
  ValueId View(ValueId id, std::vector<Expr> shape, int before) {
    const std::string name = graph_.value(id).name + ".view";
    const ValueId sizes = AddSizes(graph_, name + ".shape", shape);
    const ValueId result = AddComputed(graph_, name, graph_.value(id).dtype, shape);
    Node view{.name = graph_.value(result).name,
              .op = OpKind::kReshape,
              .inputs = {id, sizes},
              .outputs = {result}};
    views_.emplace(before, std::move(view));
    uses_.readers.resize(graph_.values.size());
    uses_.is_output.resize(graph_.values.size());
    producers_.resize(graph_.values.size(), -1);
    return result;
  }

  void InsertViews() {
    std::vector<Node> nodes;
    for (size_t n = 0; n < graph_.nodes.size(); ++n) {
      auto [first, last] = views_.equal_range(static_cast<int>(n));
      for (auto view = first; view != last; ++view) nodes.push_back(view->second);
      nodes.push_back(std::move(graph_.nodes[n]));
    }
    graph_.nodes = std::move(nodes);
  }

  // Returns the movements between the operand and the node that computes their source, from the
  // operand backwards; empty if that node could not take the elementwise one.
  std::vector<int> MovementsBefore(ValueId id) const {
    std::vector<int> movements;
    int producer = producers_[id];
    while (producer >= 0 && OnlyMoves(graph_.nodes[producer]) && uses_.HasOneReader(id) &&
           !graph_.value(graph_.nodes[producer].inputs[0]).shape.empty()) {
      movements.push_back(producer);
      id = graph_.nodes[producer].inputs[0];
      producer = producers_[id];
    }
    if (producer < 0 || !uses_.HasOneReader(id)) return {};
    const Node& source = graph_.nodes[producer];
    bool joins = source.bodies.empty() && source.outputs.size() == 1 &&
                 FormOf(source) != OpForm::kMovement && FormOf(source) != OpForm::kView;
    return joins ? movements : std::vector<int>{};
  }

  // Turns node(move(x)) into move(node(x)), movement by movement.
  void Lift(int node, size_t operand) {
    for (int movement : MovementsBefore(graph_.nodes[node].inputs[operand])) {
      Node& lifted = graph_.nodes[node];
      Node& moved = graph_.nodes[movement];
      ValueId x = moved.inputs[0];
      ValueId between = lifted.inputs[operand];
      ValueId result = lifted.outputs[0];
      graph_.values[between].shape = graph_.value(x).shape;
      graph_.values[between].dtype = graph_.value(result).dtype;
      graph_.values[between].elements.clear();
      lifted.inputs[operand] = x;
      lifted.outputs[0] = between;
      moved.inputs[0] = between;
      moved.outputs[0] = result;
      std::swap(lifted, moved);
      producers_[between] = movement;
      producers_[result] = node;
      uses_.readers[x] = {movement};
      uses_.readers[between] = {node};
      node = movement;
    }
  }

  Graph& graph_;
  ValueUses uses_;
  std::vector<int> producers_;
  std::multimap<int, Node> views_;  // by the node that they come before
};

}  // namespace

Status SinkMovements(Graph& graph) {
  MovementSinker(graph).Run();
  return OkStatus();
}

}  // namespace tcc
