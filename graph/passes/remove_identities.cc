#include <algorithm>
#include <numeric>

#include "graph/ops/node_lowering.h"
#include "graph/passes/edit.h"
#include "graph/passes/passes.h"
#include "ir/graph/constants.h"

namespace tcc {
namespace {

bool Has(const Node& node, size_t input) {
  return input < node.inputs.size() && node.inputs[input] != kNoValue;
}

bool KeepsOrder(const Node& node, size_t rank) {
  std::vector<int64_t> perm = node.Ints("perm");
  return (perm.empty() && rank < 2) || (!perm.empty() && std::ranges::is_sorted(perm));
}

// Returns whether the input is a constant whose elements are all `number`.
bool IsAll(const Graph& graph, const Node& node, size_t input, double number) {
  const Tensor* tensor = Has(node, input) ? graph.ConstantOf(node.inputs[input]) : nullptr;
  return tensor && !tensor->dtype.is_storage_only() && HoldsOnly(*tensor, number);
}

// An operator whose result is one operand if another one is a constant, all of one number.
struct Neutral {
  OpKind op;
  size_t constant;
  double number;
  size_t operand;
};

constexpr Neutral kNeutrals[] = {
    {OpKind::kAdd, 1, 0, 0}, {OpKind::kAdd, 0, 0, 1},   {OpKind::kSub, 1, 0, 0},
    {OpKind::kMul, 1, 1, 0}, {OpKind::kMul, 0, 1, 1},   {OpKind::kDiv, 1, 1, 0},
    {OpKind::kPow, 1, 1, 0}, {OpKind::kWhere, 0, 1, 1}, {OpKind::kWhere, 0, 0, 2},
};

std::optional<size_t> OperandBesideNeutral(const Graph& graph, const Node& node) {
  for (const Neutral& row : kNeutrals) {
    if (row.op == node.op && IsAll(graph, node, row.constant, row.number)) return row.operand;
  }
  return std::nullopt;
}

// The operators whose result is the first operand if it has the same type and shape.
constexpr OpKind kKeepElements[] = {OpKind::kIdentity, OpKind::kCast,     OpKind::kExpand,
                                    OpKind::kReshape,  OpKind::kFlatten,  OpKind::kSqueeze,
                                    OpKind::kTile,     OpKind::kUnsqueeze};

// Returns whether the node's result is its first operand. Expects equal types and shapes.
bool IsWholeOperand(const Graph& graph, const Node& node) {
  auto none_but_first = [](const std::vector<ValueId>& ids) {
    return std::all_of(ids.begin() + 1, ids.end(), [](ValueId id) { return id == kNoValue; });
  };
  if (std::find(std::begin(kKeepElements), std::end(kKeepElements), node.op) !=
      std::end(kKeepElements)) {
    return true;
  }
  if (node.op == OpKind::kDropout) return none_but_first(node.outputs);
  if (node.op == OpKind::kClip || node.op == OpKind::kConcat) return none_but_first(node.inputs);
  if (node.op == OpKind::kTranspose) {
    return KeepsOrder(node, graph.value(node.inputs[0]).shape.size());
  }
  // The shapes are equal, so a Slice without negative steps takes everything.
  if (node.op == OpKind::kSlice) return !Has(node, 4) || IsAll(graph, node, 4, 1);
  return node.op == OpKind::kPad && IsAll(graph, node, 1, 0);
}

bool SameTypeAndShape(const Value& a, const Value& b) {
  return a.dtype == b.dtype && SameShape(a.shape, b.shape);
}

// Returns the operand that the node's result equals.
std::optional<ValueId> EqualOperand(const Graph& graph, const Node& node) {
  if (!Has(node, 0) || node.outputs.empty() || node.outputs[0] == kNoValue) return std::nullopt;
  std::optional<size_t> operand = OperandBesideNeutral(graph, node);
  if (!operand && IsWholeOperand(graph, node)) operand = 0;
  if (!operand) return std::nullopt;
  ValueId id = node.inputs[*operand];
  if (!SameTypeAndShape(graph.value(id), graph.value(node.outputs[0]))) return std::nullopt;
  return id;
}

class IdentityRemover {
 public:
  explicit IdentityRemover(Graph& graph)
      : graph_(graph), computed_(ProducersOf(graph)), same_(graph.values.size()) {
    is_output_ = UsesOf(graph).is_output;
    std::iota(same_.begin(), same_.end(), 0);
    written_as_ = same_;
  }

  void Run() {
    std::vector<Node> kept;
    for (Node& node : graph_.nodes) {
      Rename(node.inputs, same_);
      std::optional<ValueId> operand = EqualOperand(graph_, node);
      if (!operand || !Bypass(*operand, node.outputs[0])) kept.push_back(std::move(node));
    }
    for (Node& node : kept) {
      Rename(node.inputs, written_as_);
      Rename(node.outputs, written_as_);
    }
    graph_.nodes = std::move(kept);
  }

 private:
  static void Rename(std::vector<ValueId>& ids, const std::vector<ValueId>& names) {
    for (ValueId& id : ids) {
      if (id != kNoValue) id = names[id];
    }
  }

  // Removes a node from `in` to `out`. An output of the graph keeps its value: the operand's
  // producer writes it instead, unless the operand is itself an input, output or constant of the
  // graph.
  bool Bypass(ValueId in, ValueId out) {
    if (!is_output_[out]) {
      same_[out] = in;
      return true;
    }
    if (computed_[in] < 0 || is_output_[in] || written_as_[in] != in) return false;
    written_as_[in] = out;
    return true;
  }

  Graph& graph_;
  std::vector<bool> is_output_;
  std::vector<int> computed_;        // the producer, -1 for inputs and constants
  std::vector<ValueId> same_;        // the value that a removed node's readers use instead
  std::vector<ValueId> written_as_;  // the graph's output that an operand's producer writes
};

}  // namespace

Status RemoveIdentities(Graph& graph) {
  IdentityRemover(graph).Run();
  return OkStatus();
}

}  // namespace tcc
