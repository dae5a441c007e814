#include "graph/passes/infer_shapes.h"

#include <algorithm>
#include <deque>
#include <string_view>

#include "graph/ops/node_lowering.h"
#include "graph/ops/op_lowering.h"
#include "graph/ops/storage_order.h"
#include "graph/passes/evaluate.h"
#include "graph/passes/expand_recurrence.h"
#include "graph/passes/infer_control_flow.h"
#include "graph/passes/value_dependent.h"
#include "ir/graph/constants.h"
#include "support/check.h"
#include "support/extents.h"

namespace tcc {
namespace {

// The limits for values computed on the way: more than any list of axes, starts or dimensions
// needs, and little work for the interpreter.
constexpr EvaluationLimits kShapeArithmetic = {.max_bytes = 4096, .max_instances = 1 << 16};

constexpr int64_t kValueDependentBytes = int64_t{64} << 20;

void SetConstant(Value& value, const Tensor& tensor) {
  value.dtype = tensor.dtype;
  value.shape = ToExprs(tensor.shape);
  value.constant = tensor;
}

void SetConstants(Graph& graph, const Node& node, const std::vector<Tensor>& results) {
  for (size_t i = 0; i < node.outputs.size(); ++i) {
    if (node.outputs[i] != kNoValue) SetConstant(graph.values[node.outputs[i]], results[i]);
  }
}

// Reads the attribute value, value_int(s) or value_float(s).
StatusOr<Tensor> ConstantTensor(const Node& node) {
  for (const auto& [key, attribute] : node.attributes) {
    if (std::optional<Tensor> tensor = TensorOf(attribute)) return *std::move(tensor);
  }
  return Unsupported("node '{}' (Constant): has no value of a supported type", node.name);
}

// Checks the size of the known dimensions.
Status CheckSize(const Node& node, const Value& value) {
  std::vector<int64_t> known;
  for (const Expr& dim : value.shape) known.push_back(AsConstant(dim).value_or(1));
  return Annotate(CheckExtents(known), fmt::format("node '{}' ({}): output '{}'", node.name,
                                                   ToString(node.op), value.name));
}

Status InferNode(Graph& graph, const Node& node) {
  TCC_ASSIGN_OR_RETURN(LoweredNode lowered, LowerNode(graph, node));
  for (NodeResult& result : ResultsOf(graph, node, lowered)) {
    Value& value = graph.values[result.value];
    value.shape = std::move(result.shape);
    value.dtype = result.dtype;
    TCC_RETURN_IF_ERROR(CheckSize(node, value));
  }
  return OkStatus();
}

// Subtracts work from the budget.
Status Spend(const Node& node, int64_t amount, std::string_view what, int64_t& left) {
  left -= amount;
  if (left >= 0) return OkStatus();
  return absl::ResourceExhaustedError(fmt::format(
      "node '{}' ({}): inferring the model's shapes takes more {} than the budget holds", node.name,
      ToString(node.op), what));
}

// Evaluates a small node. Returns whether its outputs became constants. Bytes stay bytes, for
// RewriteQuantized.
StatusOr<bool> EvaluateIfSmall(Graph& graph, const Node& node, InferenceBudget& budget) {
  if (!IsComputable(graph, node) || node.op == OpKind::kDequantizeLinear) return false;
  int64_t issued = 0;
  EvaluationLimits limits = kShapeArithmetic;
  limits.issued = &issued;
  StatusOr<std::vector<Tensor>> results = EvaluateNode(graph, node, limits);
  TCC_RETURN_IF_ERROR(Spend(node, issued, "block instances", budget.instances));
  if (results.status().code() == absl::StatusCode::kResourceExhausted) return false;
  if (!results.ok()) return results.status();
  SetConstants(graph, node, *results);
  return true;
}

}  // namespace

std::vector<NodeResult> ResultsOf(const Graph& graph, const Node& node,
                                  const LoweredNode& lowered) {
  std::vector<NodeResult> results;
  for (size_t e = 0; e < lowered.outputs.size(); ++e) {
    const Buffer& buffer = lowered.program.outputs[e];
    std::vector<int> order = OutputOrder(graph, node, buffer.rank());
    std::vector<Expr> shape(buffer.rank());
    for (size_t d = 0; d < order.size(); ++d) shape[order[d]] = buffer.shape[d];
    results.push_back({lowered.outputs[e], buffer.dtype(), std::move(shape)});
  }
  return results;
}

bool GivesItsResults(const Graph& graph, const Node& node) {
  StatusOr<LoweredNode> lowered = LowerNode(graph, node);
  if (!lowered.ok()) return false;
  std::vector<NodeResult> results = ResultsOf(graph, node, *lowered);
  return std::ranges::all_of(results, [&](const NodeResult& result) {
    const Value& value = graph.value(result.value);
    return value.dtype == result.dtype && SameShape(value.shape, result.shape);
  });
}

Status InferShapes(Graph& graph) {
  InferenceBudget budget;
  return InferShapes(graph, budget);
}

Status InferShapes(Graph& graph, InferenceBudget& budget) {
  std::deque<Node> pending(std::make_move_iterator(graph.nodes.begin()),
                           std::make_move_iterator(graph.nodes.end()));
  graph.nodes.clear();
  // Queues the nodes in place of a node, or behind it.
  auto look_at = [&](const Node& node, std::vector<Node> nodes) {
    TCC_RETURN_IF_ERROR(Spend(node, static_cast<int64_t>(nodes.size()), "nodes", budget.nodes));
    pending.insert(pending.begin(), std::make_move_iterator(nodes.begin()),
                   std::make_move_iterator(nodes.end()));
    return OkStatus();
  };
  while (!pending.empty()) {
    Node node = std::move(pending.front());
    pending.pop_front();
    if (node.op == OpKind::kConstant) {
      TCC_ASSIGN_OR_RETURN(Tensor tensor, ConstantTensor(node));
      SetConstant(graph.values[node.outputs[0]], tensor);
      continue;
    }
    if (IsValueDependent(node.op)) {
      TCC_ASSIGN_OR_RETURN(std::vector<Tensor> results,
                           EvaluateValueDependent(graph, node, kValueDependentBytes));
      SetConstants(graph, node, results);
      continue;
    }
    if (!node.bodies.empty()) {
      for (const Graph& body : node.bodies) {
        auto nodes = static_cast<int64_t>(body.nodes.size());
        TCC_RETURN_IF_ERROR(Spend(node, nodes, "nodes", budget.nodes));
      }
      TCC_ASSIGN_OR_RETURN(InferredControlFlow inferred, InferControlFlow(graph, node, budget));
      TCC_RETURN_IF_ERROR(look_at(node, std::move(inferred.pending)));
      if (inferred.stays) graph.nodes.push_back(std::move(node));
      continue;
    }
    if (IsRecurrence(node)) {
      TCC_ASSIGN_OR_RETURN(std::vector<Node> nodes, ExpandRecurrence(graph, node));
      TCC_RETURN_IF_ERROR(look_at(node, std::move(nodes)));
      continue;
    }
    TCC_RETURN_IF_ERROR(InferNode(graph, node));
    TCC_ASSIGN_OR_RETURN(bool evaluated, EvaluateIfSmall(graph, node, budget));
    if (!evaluated) graph.nodes.push_back(std::move(node));
  }
  return OkStatus();
}

bool ShapesAgree(const std::vector<Expr>& a, const std::vector<Expr>& b) {
  if (a.size() != b.size()) return false;
  for (size_t d = 0; d < a.size(); ++d) {
    bool known = AsConstant(a[d]) && AsConstant(b[d]);
    if (known && AsConstant(a[d]) != AsConstant(b[d])) return false;
  }
  return true;
}

std::vector<std::vector<Expr>> DeclaredShapes(const Graph& graph) {
  std::vector<std::vector<Expr>> shapes;
  for (ValueId id : graph.outputs) shapes.push_back(graph.value(id).shape);
  return shapes;
}

std::vector<std::string> ContradictedShapes(const Graph& graph,
                                            const std::vector<std::string>& names,
                                            const std::vector<std::vector<Expr>>& declared) {
  TCC_CHECK(declared.size() == graph.outputs.size() && names.size() == declared.size());
  std::vector<std::string> lines;
  for (size_t i = 0; i < declared.size(); ++i) {
    const std::vector<Expr>& inferred = graph.value(graph.outputs[i]).shape;
    if (declared[i].empty() || ShapesAgree(declared[i], inferred)) continue;
    lines.push_back(fmt::format("output '{}' is declared as {}; its node gives {}", names[i],
                                ShapeText(declared[i]), ShapeText(inferred)));
  }
  return lines;
}

}  // namespace tcc
