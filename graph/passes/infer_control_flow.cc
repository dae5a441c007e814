#include "graph/passes/infer_control_flow.h"

#include <algorithm>
#include <unordered_set>

#include "graph/ops/node_lowering.h"
#include "graph/ops/shape_operands.h"
#include "graph/passes/control_flow.h"
#include "graph/passes/edit.h"
#include "graph/passes/evaluate.h"
#include "graph/passes/node_writer.h"
#include "ir/expr/evaluate.h"
#include "ir/expr/visitor.h"
#include "ir/graph/constants.h"
#include "support/check.h"
#include "support/printable.h"
#include "support/wanted_option.h"

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
  bool decided = std::ranges::any_of(
      node.inputs, [&](ValueId input) { return KnownBool(graph, input) == deciding; });
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

InferredControlFlow ReplacedBy(std::vector<Node> nodes) {
  return {.stays = false, .pending = std::move(nodes), .agreements = {}};
}

bool HasOneElement(const Value& value) {
  return std::ranges::all_of(value.shape, [](const Expr& dim) { return AsConstant(dim) == 1; });
}

// One node on which shapes are inferred.
class ControlFlow {
 public:
  ControlFlow(Graph& graph, Node& node, InferenceBudget& budget)
      : graph_(graph), node_(node), budget_(budget) {}

  StatusOr<InferredControlFlow> InferIf() {
    FoldValue(graph_, node_.inputs[0], budget_);
    if (std::optional<bool> condition = KnownBool(graph_, node_.inputs[0])) {
      return TakeBranch(*condition);
    }
    if (!HasOneElement(graph_.value(node_.inputs[0])))
      return Error("the condition is not one element");
    const std::vector<Expr> sizes = graph_.value(node_.inputs[0]).elements;
    Node given = sizes.empty() ? Node() : node_;
    StatusOr<InferredControlFlow> both = InferBranches();
    std::optional<int64_t> usual = sizes.empty() ? std::nullopt : AtUsual(sizes[0]);
    if (both.ok() || !usual) return both;
    // Sizes decide, and the branches do not fit each other: the one of the usual sizes is taken.
    node_ = std::move(given);
    InferredControlFlow taken = TakeBranch(*usual != 0);
    taken.agreements.push_back(
        {sizes[0], Expr(*usual),
         fmt::format("node '{}' (If): the condition and its value at the usual sizes",
                     node_.name)});
    return taken;
  }

  StatusOr<InferredControlFlow> InferLoop() {
    std::vector<Node> before = TransposeScanInputs();
    if (!before.empty()) {
      before.push_back(std::move(node_));
      return ReplacedBy(std::move(before));
    }
    CaptureInvariants();
    TCC_RETURN_IF_ERROR(CheckScans());
    SinkConstants(graph_, node_);
    if (std::optional<std::vector<Node>> done = WithoutLoop()) return Gone(std::move(*done));
    std::optional<Graph> copy;
    if (MayUnroll(graph_, node_)) copy = node_.bodies[0];
    Status inferred = InferLoopBody();
    if (inferred.code() == absl::StatusCode::kUnimplemented && copy) {
      return Gone(UnrollLoop(graph_, node_, *copy, *KnownTripCount(graph_, node_)));
    }
    if (!inferred.ok()) return inferred;
    if (SettleCondition()) {
      if (std::optional<std::vector<Node>> done = WithoutLoop()) return Gone(std::move(*done));
    }
    if (IsEndless()) return Error("never ends: no trip count, nothing to scan, always true");
    TCC_ASSIGN_OR_RETURN(std::optional<int64_t> trips, SetLoopResults());
    if (trips == 0) return Gone(InitialValues());
    return InferredControlFlow{
        .stays = true, .pending = std::move(after_), .agreements = std::move(agreements_)};
  }

 private:
  InferredControlFlow TakeBranch(bool condition) {
    std::vector<ValueId> captured(node_.inputs.begin() + 1, node_.inputs.end());
    Graph taken = std::move(node_.bodies[condition ? 0 : 1]);
    return ReplacedBy(InlineBody(graph_, std::move(taken), captured, node_.outputs));
  }

  // Infers both branches, whose results must have the same shapes.
  StatusOr<InferredControlFlow> InferBranches() {
    SinkConstants(graph_, node_);
    for (Graph& body : node_.bodies) {
      SetCapturedShapes(body);
      Status inferred = InferBody(body);
      if (absl::IsInvalidArgument(inferred)) {
        return WithBinds(
            InvalidInput("{}; the condition is known only when running, so both branches must fit: "
                         "binding what it depends on chooses one",
                         Message(inferred)),
            {node_.inputs[0]});
      }
      if (!inferred.ok()) return inferred;
    }
    const Graph& then_body = node_.bodies[0];
    for (size_t i = 0; i < node_.outputs.size(); ++i) {
      const Value& value = then_body.value(then_body.outputs[i]);
      const Value& other = node_.bodies[1].value(node_.bodies[1].outputs[i]);
      if (!SameShape(value.shape, other.shape)) {
        return NodeLowering(graph_, node_)
            .NotConstant(0, fmt::format("one branch gives '{}' of shape {}, the other '{}' of "
                                        "shape {}, and the condition",
                                        value.name, ShapeText(value.shape), other.name,
                                        ShapeText(other.shape)));
      }
      SetResult(i, value.shape);
    }
    return InferredControlFlow();
  }

  template <typename... Args>
  Status Error(fmt::format_string<Args...> format, Args&&... args) const {
    return InvalidInput("node '{}' ({}): {}", node_.name, ToString(node_.op),
                        fmt::format(format, std::forward<Args>(args)...));
  }
  template <typename... Args>
  Status NotSupported(fmt::format_string<Args...> format, Args&&... args) const {
    return Unsupported("node '{}' ({}): {}", node_.name, ToString(node_.op),
                       fmt::format(format, std::forward<Args>(args)...));
  }

  // Infers the shapes of a body. A failure names the model's inputs to bind in place of the body's.
  Status InferBody(Graph& body) const {
    Status inferred = InferShapes(body, budget_);
    if (inferred.ok()) return inferred;
    Status status(inferred.code(),
                  fmt::format("body of node '{}': {}", node_.name, Message(inferred)));
    std::unordered_set<std::string> to_bind;
    for (const WantedOption& wanted : WantedOptions(inferred)) {
      if (wanted.option == Option::kBinds) {
        to_bind.insert(wanted.key);
      } else {
        status = WithOption(status, wanted.option, wanted.key);
      }
    }
    return WithBinds(status, CapturedAs(body, to_bind));
  }

  // Returns the operands that are inputs of the body with these printable names, but for inputs
  // that change with the iterations.
  std::vector<ValueId> CapturedAs(const Graph& body,
                                  const std::unordered_set<std::string>& names) const {
    std::vector<ValueId> operands;
    for (size_t i = FirstCaptured(node_), b = FirstCapturedInput(node_); i < node_.inputs.size();
         ++i, ++b) {
      if (names.contains(Printable(body.value(body.inputs[b]).name))) {
        operands.push_back(node_.inputs[i]);
      }
    }
    return operands;
  }

  // Adds the inputs that the operands are computed from as options to bind.
  Status WithBinds(Status status, const std::vector<ValueId>& operands) const {
    for (ValueId id : InputsBehind(graph_, operands)) {
      status = WithOption(status, Option::kBinds, graph_.value(id).name);
    }
    return status;
  }

  void SetCapturedShapes(Graph& body) const {
    for (size_t i = FirstCaptured(node_), b = FirstCapturedInput(node_); i < node_.inputs.size();
         ++i, ++b) {
      const Value& captured = graph_.value(node_.inputs[i]);
      body.values[body.inputs[b]].shape = captured.shape;
      body.values[body.inputs[b]].elements = captured.elements;
    }
  }

  void SetResult(size_t i, const std::vector<Expr>& shape) {
    if (node_.outputs[i] != kNoValue) graph_.values[node_.outputs[i]].shape = shape;
  }

  // In place of the Loop; what became captured is handed on all the same.
  InferredControlFlow Gone(std::vector<Node> nodes) {
    nodes.insert(nodes.end(), after_.begin(), after_.end());
    return {.stays = false, .pending = std::move(nodes), .agreements = std::move(agreements_)};
  }

  bool IsEndless() const {
    const Graph& body = node_.bodies[0];
    return node_.inputs[0] == kNoValue && PartsOf(node_).scan_inputs == 0 &&
           node_.inputs[1] == kNoValue && KnownBool(body, body.outputs[0]) == true;
  }

  // Scanned operands come with their scanned dimension first.
  std::vector<Node> TransposeScanInputs() {
    std::vector<Node> transposes;
    auto axes = node_.attributes.find("scan_input_axes");
    if (axes == node_.attributes.end()) return transposes;
    size_t first = PartsOf(node_).first_scan_input();
    auto& numbers = std::get<std::vector<int64_t>>(axes->second);
    for (size_t i = 0; i < numbers.size(); ++i) {
      ValueId operand = node_.inputs[first + i];
      auto rank = static_cast<int64_t>(graph_.value(operand).shape.size());
      int64_t axis = numbers[i] < 0 ? numbers[i] + rank : numbers[i];
      if (axis <= 0 || axis >= rank) continue;  // a wrong one is reported by CheckScans
      std::vector<int64_t> perm = {axis};
      for (int64_t d = 0; d < rank; ++d) {
        if (d != axis) perm.push_back(d);
      }
      const Value value = graph_.value(operand);
      ValueId moved = AddComputed(graph_, value.name + ".slices", value.dtype, {});
      NodeWriter(graph_, transposes, value.name)
          .EmitAs(moved, OpKind::kTranspose, {operand}, {{"perm", perm}});
      node_.inputs[first + i] = moved;
      numbers[i] = 0;
    }
    return transposes;
  }

  Status CheckScans() {
    NodeLowering operands(graph_, node_);
    LoopParts parts = PartsOf(node_);
    std::vector<int64_t> axes = node_.Ints("scan_input_axes");
    std::optional<Expr> extent;
    for (size_t i = 0; i < parts.scan_inputs; ++i) {
      const Value& value = graph_.value(node_.inputs[parts.first_scan_input() + i]);
      auto rank = static_cast<int64_t>(value.shape.size());
      if (axes[i] < -rank || axes[i] >= rank) {
        return Error("'{}' of rank {} is scanned along axis {}", value.name, rank, axes[i]);
      }
      std::string what = fmt::format("slices of '{}' and of another operand", value.name);
      if (extent && !operands.Agree(*extent, value.shape[0], what).ok()) {
        return Error("'{}' has {} slices; another operand has {}", value.name,
                     ShapeText({value.shape[0]}), ShapeText({*extent}));
      }
      extent = value.shape[0];
    }
    agreements_ = std::move(operands).Finish().agreements;
    for (size_t i = 0; i < 2; ++i) {
      if (node_.inputs[i] != kNoValue && !HasOneElement(graph_.value(node_.inputs[i]))) {
        return Error("the {} is not one element", i == 0 ? "trip count" : "condition");
      }
    }
    return OkStatus();
  }

  // A carried value that the body hands on as it is.
  void CaptureInvariants() {
    Graph& body = node_.bodies[0];
    for (size_t k = PartsOf(node_).carried; k > 0; --k) {
      ValueId inside = body.inputs[2 + k - 1];
      if (BehindIdentities(body, body.outputs[k]) != inside) continue;
      ValueId initial = node_.inputs[2 + k - 1];
      node_.inputs.erase(node_.inputs.begin() + static_cast<int64_t>(2 + k - 1));
      node_.inputs.push_back(initial);
      body.inputs.erase(body.inputs.begin() + static_cast<int64_t>(2 + k - 1));
      body.inputs.push_back(inside);
      body.outputs.erase(body.outputs.begin() + static_cast<int64_t>(k));
      ValueId result = node_.outputs[k - 1];
      node_.outputs.erase(node_.outputs.begin() + static_cast<int64_t>(k - 1));
      node_.attributes["carried"] = node_.Int("carried", 0) - 1;
      if (result == kNoValue) continue;
      NodeWriter(graph_, after_, node_.name).EmitAs(result, OpKind::kIdentity, {initial});
    }
  }

  // The Loop runs not at all or once: what it gives without it. nullopt where it stays.
  std::optional<std::vector<Node>> WithoutLoop() {
    bool empty = node_.inputs[1] != kNoValue && KnownBool(graph_, node_.inputs[1]) == false;
    bool certain = node_.inputs[1] == kNoValue || KnownBool(graph_, node_.inputs[1]) == true;
    std::optional<int64_t> trips = KnownTripCount(graph_, node_);
    // A scan of no slice has the shape of one, so the body's shapes must be known first.
    if (empty || trips == 0) {
      if (node_.outputs.size() > PartsOf(node_).carried) return std::nullopt;
      return InitialValues();
    }
    if (trips == 1 && certain) return UnrollLoop(graph_, node_, node_.bodies[0], 1);
    if (node_.outputs.empty()) return std::vector<Node>{};
    return std::nullopt;
  }

  std::vector<Node> InitialValues() {
    std::vector<Node> nodes;
    NodeWriter writer(graph_, nodes, node_.name);
    for (size_t k = 0; k < PartsOf(node_).carried; ++k) {
      ValueId result = node_.outputs[k];
      if (result != kNoValue) writer.EmitAs(result, OpKind::kIdentity, {node_.inputs[2 + k]});
    }
    return nodes;
  }

  Status InferLoopBody() {
    SetBodyShapes();
    TCC_RETURN_IF_ERROR(InferBody(node_.bodies[0]));
    return CheckCarried();
  }

  void SetBodyShapes() {
    Graph& body = node_.bodies[0];
    LoopParts parts = PartsOf(node_);
    for (size_t i = 2; i < parts.first_captured(); ++i) {
      std::vector<Expr> shape = graph_.value(node_.inputs[i]).shape;
      if (i >= parts.first_scan_input()) shape.erase(shape.begin());
      body.values[body.inputs[i]].shape = std::move(shape);
    }
    SetCapturedShapes(body);
    // Wherever a body runs, its condition holds.
    ReplaceUses(body, body.inputs[1], AddConstant(body, "true", ScalarTensor(kBool, 1)));
  }

  Status CheckCarried() {
    const Graph& body = node_.bodies[0];
    for (size_t k = 0; k < PartsOf(node_).carried; ++k) {
      const Value& before = graph_.value(node_.inputs[2 + k]);
      const Value& after = body.value(body.outputs[1 + k]);
      if (before.dtype == after.dtype && Stays(before, after)) continue;
      return NotSupported(
          "carried value '{}' begins as {}[{}] and becomes {}[{}]; expected one "
          "type and shape",
          before.name, ToString(before.dtype), ShapeText(before.shape), ToString(after.dtype),
          ShapeText(after.shape));
    }
    if (HasOneElement(body.value(body.outputs[0]))) return OkStatus();
    return Error("the condition is not one element");
  }

  // Returns whether a carried value keeps its shape. Takes it for granted of free extents, but not
  // of one that an iteration computes from itself or stretches from 1: that would change.
  bool Stays(const Value& before, const Value& after) {
    if (before.shape.size() != after.shape.size()) return false;
    NodeLowering operands(graph_, node_);
    for (size_t d = 0; d < before.shape.size(); ++d) {
      const Expr &a = before.shape[d], &b = after.shape[d];
      if (SameExtent(a, b)) continue;
      bool changes =
          AsConstant(a).value_or(2) < 2 || AsConstant(b).value_or(2) < 2 ||
          std::ranges::any_of(VarsOf(a), [&](const Var& var) { return UsesVar(b, var); });
      std::string what =
          fmt::format("dimension {} of carried value '{}' before and after", d, before.name);
      if (changes || !operands.Agree(a, b, what).ok()) return false;
    }
    std::ranges::move(std::move(operands).Finish().agreements, std::back_inserter(agreements_));
    return true;
  }

  // Drops a condition that holds all the time; one that fails after the first iteration limits the
  // trip count. Whether anything changed.
  bool SettleCondition() {
    std::optional<bool> after = KnownBool(node_.bodies[0], node_.bodies[0].outputs[0]);
    bool holds_first = node_.inputs[1] == kNoValue || KnownBool(graph_, node_.inputs[1]) == true;
    if (after == true && node_.inputs[1] != kNoValue && holds_first) {
      node_.inputs[1] = kNoValue;
      return true;
    }
    if (after != false || !holds_first || KnownTripCount(graph_, node_) == 1) return false;
    if (node_.inputs[0] != kNoValue && !KnownTripCount(graph_, node_)) return false;
    node_.inputs[0] = AddConstant(graph_, node_.name + ".trip_count", IntScalar(1));
    return true;
  }

  // Returns how many iterations there are, if that is a number.
  StatusOr<std::optional<int64_t>> SetLoopResults() {
    LoopParts parts = PartsOf(node_);
    const Graph& body = node_.bodies[0];
    bool never = node_.inputs[1] != kNoValue && KnownBool(graph_, node_.inputs[1]) == false;
    bool always = node_.inputs[1] == kNoValue && KnownBool(body, body.outputs[0]) == true;
    std::optional<Expr> trips = TripCount(graph_, node_);
    if (never) trips = Expr(0);
    for (size_t k = 0; k < parts.carried; ++k) {
      SetResult(k, graph_.value(node_.inputs[2 + k]).shape);
    }
    for (size_t i = 0; i < parts.scan_outputs; ++i) {
      ValueId result = node_.outputs[parts.carried + i];
      if (result == kNoValue) continue;
      if (!trips || (!always && !IsConstant(*trips, 0))) {
        return UnknownSlices(graph_.value(result).name);
      }
      const Value& slice = body.value(body.outputs[1 + parts.carried + i]);
      TCC_RETURN_IF_ERROR(SetStack(i, *trips, slice));
    }
    return trips ? AsConstant(*trips) : std::nullopt;
  }

  // Refuses a stack whose number of slices is known only when running.
  Status UnknownSlices(const std::string& stack) const {
    std::string text = fmt::format("'{}' stacks a slice for each iteration", stack);
    if (!KnownBool(node_.bodies[0], node_.bodies[0].outputs[0])) {
      return NotSupported("{}, and a condition that the body computes ends the loop", text);
    }
    NodeLowering operands(graph_, node_);
    if (node_.inputs[1] != kNoValue && !KnownBool(graph_, node_.inputs[1])) {
      return operands.NotConstant(1, text + ", and whether there is any");
    }
    if (node_.inputs[0] != kNoValue && graph_.ConstantOf(node_.inputs[0]) == nullptr) {
      return operands.NotConstant(0, text + ", and the trip count");
    }
    return NotSupported("{}, and how many there are is known only when running", text);
  }

  // The result of a scan: stacked along dimension 0, then brought to where it belongs.
  Status SetStack(size_t scan, const Expr& trips, const Value& slice) {
    size_t output = PartsOf(node_).carried + scan;
    ValueId result = node_.outputs[output];
    auto rank = static_cast<int64_t>(slice.shape.size()) + 1;
    auto& axes = std::get<std::vector<int64_t>>(node_.attributes.at("scan_output_axes"));
    int64_t axis = axes[scan] < 0 ? axes[scan] + rank : axes[scan];
    if (axis < 0 || axis >= rank) {
      return Error("'{}' of rank {} is stacked along axis {}", graph_.value(result).name, rank,
                   axes[scan]);
    }
    std::vector<Expr> stacked = {trips};
    stacked.insert(stacked.end(), slice.shape.begin(), slice.shape.end());
    if (IsConstant(trips, 0)) {
      std::rotate(stacked.begin(), stacked.begin() + 1, stacked.begin() + axis + 1);
      Value& value = graph_.values[result];
      value.shape = stacked;
      std::optional<std::vector<int64_t>> shape = StaticShape(value);
      if (!shape) return NotSupported("'{}' has no slice of a free shape", value.name);
      value.constant = MakeZeroTensor(value.dtype, *shape);
      return OkStatus();
    }
    if (axis > 0) {
      const Value value = graph_.value(result);
      ValueId slices = AddComputed(graph_, value.name + ".slices", value.dtype, stacked);
      std::vector<int64_t> perm;
      for (int64_t d = 0; d < rank; ++d) perm.push_back(d < axis ? d + 1 : d == axis ? 0 : d);
      NodeWriter(graph_, after_, value.name)
          .EmitAs(result, OpKind::kTranspose, {slices}, {{"perm", perm}});
      node_.outputs[output] = slices;
      axes[scan] = 0;
      return OkStatus();
    }
    axes[scan] = 0;
    SetResult(output, stacked);
    return OkStatus();
  }

  Graph& graph_;
  Node& node_;
  InferenceBudget& budget_;
  std::vector<Node> after_;
  std::vector<Agreement> agreements_;
};

}  // namespace

void FoldValue(Graph& graph, ValueId value, InferenceBudget& budget) {
  if (graph.ConstantOf(value) != nullptr) return;
  std::vector<size_t> behind = NodesBehind(graph, value);
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

StatusOr<InferredControlFlow> InferControlFlow(Graph& graph, Node& node, InferenceBudget& budget) {
  ControlFlow control(graph, node, budget);
  return node.op == OpKind::kIf ? control.InferIf() : control.InferLoop();
}

}  // namespace tcc
