#include "graph/passes/infer_shapes.h"

#include <algorithm>
#include <deque>
#include <string_view>

#include "graph/ops/node_lowering.h"
#include "graph/ops/normal_form.h"
#include "graph/ops/op_lowering.h"
#include "graph/ops/storage_order.h"
#include "graph/passes/agreements.h"
#include "graph/passes/elements.h"
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

// Returns what the lowering takes for granted of free extents.
StatusOr<std::vector<Agreement>> InferNode(Graph& graph, const Node& node) {
  TCC_ASSIGN_OR_RETURN(LoweredNode lowered, LowerNode(graph, node));
  for (NodeResult& result : ResultsOf(graph, node, lowered)) {
    Value& value = graph.values[result.value];
    value.shape = std::move(result.shape);
    value.dtype = result.dtype;
    TCC_RETURN_IF_ERROR(CheckSize(node, value));
  }
  return std::move(lowered.agreements);
}

// Subtracts work from the budget.
Status Spend(const Node& node, int64_t amount, std::string_view what, int64_t& left) {
  left -= amount;
  if (left >= 0) return OkStatus();
  return absl::ResourceExhaustedError(fmt::format(
      "node '{}' ({}): inferring the model's shapes takes more {} than the budget holds", node.name,
      ToString(node.op), what));
}

// Notes the elements of a node's result that Shape variables decide. Returns whether it became a
// constant.
bool InferElements(Graph& graph, const Node& node) {
  if (graph.shape_vars.empty()) return false;
  Value& value = graph.values[node.outputs[0]];
  std::vector<Expr> elements = ElementsOf(graph, node);
  std::optional<std::vector<int64_t>> shape = StaticShape(value);
  bool is_empty = shape && ElementCount(*shape).value_or(1) == 0 && !value.dtype.is_storage_only();
  std::optional<std::vector<int64_t>> numbers = AsNumbers(elements);
  if ((elements.empty() && !is_empty) || !numbers || node.outputs.size() > 1) {
    value.elements = std::move(elements);
    return false;
  }
  SetConstant(value, TensorOfInts(value.dtype, *shape, *numbers));
  return true;
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

// Infers the nodes of a graph one by one.
class ShapeInference {
 public:
  ShapeInference(Graph& graph, InferenceBudget& budget, bool is_part)
      : graph_(graph),
        budget_(budget),
        is_part_(is_part),
        pending_(std::make_move_iterator(graph.nodes.begin()),
                 std::make_move_iterator(graph.nodes.end())) {
    graph_.nodes.clear();
  }

  Status Run() {
    while (!pending_.empty()) {
      Node node = std::move(pending_.front());
      pending_.pop_front();
      TCC_RETURN_IF_ERROR(Infer(std::move(node)));
    }
    return OkStatus();
  }

 private:
  Status Infer(Node node) {
    if (node.op == OpKind::kConstant) {
      TCC_ASSIGN_OR_RETURN(Tensor tensor, ConstantTensor(node));
      SetConstant(graph_.values[node.outputs[0]], tensor);
      return OkStatus();
    }
    if (IsValueDependent(node.op)) {
      TCC_ASSIGN_OR_RETURN(std::vector<Tensor> results,
                           EvaluateValueDependent(graph_, node, kValueDependentBytes));
      SetConstants(graph_, node, results);
      return OkStatus();
    }
    if (!node.bodies.empty()) return InferBodies(std::move(node));
    if (IsRecurrence(node)) {
      TCC_ASSIGN_OR_RETURN(ExpandedRecurrence expanded, ExpandRecurrence(graph_, node));
      TCC_RETURN_IF_ERROR(LookAt(node, std::move(expanded.nodes)));
      TCC_RETURN_IF_ERROR(Agree(std::move(expanded.agreements)));
      return OkStatus();
    }
    TCC_ASSIGN_OR_RETURN(std::vector<Agreement> agreements, InferNode(graph_, node));
    bool known = InferElements(graph_, node);
    if (!known) {
      TCC_ASSIGN_OR_RETURN(known, EvaluateIfSmall(graph_, node, budget_));
    }
    if (!known) graph_.nodes.push_back(std::move(node));
    TCC_RETURN_IF_ERROR(Agree(std::move(agreements)));
    return OkStatus();
  }

  Status InferBodies(Node node) {
    for (const Graph& body : node.bodies) {
      auto nodes = static_cast<int64_t>(body.nodes.size());
      TCC_RETURN_IF_ERROR(Spend(node, nodes, "nodes", budget_.nodes));
    }
    TCC_ASSIGN_OR_RETURN(InferredControlFlow inferred, InferControlFlow(graph_, node, budget_));
    TCC_RETURN_IF_ERROR(LookAt(node, std::move(inferred.pending)));
    std::vector<Agreement> agreements = std::move(inferred.agreements);
    for (Graph& body : node.bodies)
      std::ranges::move(body.agreements, std::back_inserter(agreements));
    for (Graph& body : node.bodies) body.agreements.clear();
    if (inferred.stays) graph_.nodes.push_back(std::move(node));
    TCC_RETURN_IF_ERROR(Agree(std::move(agreements)));
    return OkStatus();
  }

  // Queues the nodes in place of a node, or behind it.
  Status LookAt(const Node& node, std::vector<Node> nodes) {
    TCC_RETURN_IF_ERROR(Spend(node, static_cast<int64_t>(nodes.size()), "nodes", budget_.nodes));
    pending_.insert(pending_.begin(), std::make_move_iterator(nodes.begin()),
                    std::make_move_iterator(nodes.end()));
    return OkStatus();
  }

  // A part leaves its agreements to the whole graph, whose variables they may settle.
  Status Agree(std::vector<Agreement> agreements) {
    if (agreements.empty()) return OkStatus();
    if (is_part_) {
      std::ranges::move(agreements, std::back_inserter(graph_.agreements));
      return OkStatus();
    }
    TCC_ASSIGN_OR_RETURN(Substitution replaced, AddAgreements(graph_, agreements));
    for (Node& node : pending_) {
      for (Graph& body : node.bodies) SubstituteDims(body, replaced);
    }
    return OkStatus();
  }

  Graph& graph_;
  InferenceBudget& budget_;
  bool is_part_;
  std::deque<Node> pending_;
};

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
  bool assumes_more = std::ranges::any_of(lowered->agreements, [&](const Agreement& pair) {
    return !SameExtent(NormalForm(graph, pair.a), NormalForm(graph, pair.b));
  });
  if (assumes_more) return false;
  std::vector<NodeResult> results = ResultsOf(graph, node, *lowered);
  return std::ranges::all_of(results, [&](const NodeResult& result) {
    const Value& value = graph.value(result.value);
    return value.dtype == result.dtype && SameShape(value.shape, result.shape);
  });
}

Status InferShapes(Graph& graph) {
  InferenceBudget budget;
  return ShapeInference(graph, budget, /*is_part=*/false).Run();
}

Status InferShapes(Graph& part, InferenceBudget& budget) {
  return ShapeInference(part, budget, /*is_part=*/true).Run();
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
