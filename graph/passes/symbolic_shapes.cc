#include "graph/passes/symbolic_shapes.h"

#include <algorithm>

#include "graph/ops/node_lowering.h"
#include "graph/ops/op_lowering.h"
#include "graph/passes/evaluate.h"
#include "graph/passes/symbolic_rules.h"
#include "ir/expr/visitor.h"
#include "ir/simplify/simplify.h"

namespace tcc {

bool SymbolicValue::HasShape() const {
  return shape &&
         std::ranges::all_of(*shape, [](const Expr& dim) { return static_cast<bool>(dim); });
}

const std::vector<Expr>* SymbolicOperands::Shape(size_t input) const {
  return Has(input) && values[input]->shape ? &*values[input]->shape : nullptr;
}

const std::vector<Expr>* SymbolicOperands::Elements(size_t input) const {
  return Has(input) && values[input]->elements ? &*values[input]->elements : nullptr;
}

std::optional<std::vector<int64_t>> SymbolicOperands::Ints(size_t input) const {
  const std::vector<Expr>* elements = Elements(input);
  if (!elements) return std::nullopt;
  std::vector<int64_t> numbers;
  for (const Expr& element : *elements) {
    std::optional<int64_t> number = NumberOf(element);
    if (!number) return std::nullopt;
    numbers.push_back(*number);
  }
  return numbers;
}

Expr NormalForm(const Expr& expr) {
  return expr ? Simplify(expr) : expr;
}

Expr BroadcastDim(const Expr& a, const Expr& b) {
  if (NumberOf(a) == 1) return b;
  if (NumberOf(b) == 1) return a;
  if (NumberOf(a)) return a;  // the other is the same or 1
  if (NumberOf(b)) return b;
  return a && b && SameExtent(a, b) ? a : Expr();
}

bool Holds(const Expr& condition) {
  return IsConstant(Simplify(condition), 1);
}

std::optional<int64_t> NumberOf(const Expr& expr) {
  return expr ? AsConstant(expr) : std::nullopt;
}

namespace {

// The longest formula that is kept, in nodes of its text. Longer ones tell a reader nothing, and
// arithmetic that uses each result twice doubles them at every step.
constexpr double kMaxFormulaSize = 256;

void ForgetLongFormulas(std::optional<std::vector<Expr>>& formulas) {
  if (!formulas) return;
  for (Expr& formula : *formulas) {
    if (formula && WrittenSize(formula) > kMaxFormulaSize) formula = Expr();
  }
}

SymbolicValue OfConstant(const Tensor& tensor) {
  SymbolicValue value;
  value.shape = ToExprs(tensor.shape);
  int64_t count = ElementCount(tensor.shape).value_or(INT64_MAX);
  if (tensor.dtype.is_float() || tensor.dtype.is_storage_only() || count > kMaxSymbolicElements) {
    return value;
  }
  value.elements.emplace();
  for (int64_t i = 0; i < count; ++i) value.elements->push_back(Expr(ElementAsInt(tensor, i)));
  return value;
}

class SymbolicInference {
 public:
  explicit SymbolicInference(const Graph& graph) : graph_(graph), known_(graph) {
    values_.resize(graph.values.size());
    for (size_t id = 0; id < graph.values.size(); ++id) {
      if (graph.values[id].constant) values_[id] = OfConstant(*graph.values[id].constant);
    }
    for (ValueId id : graph.inputs) values_[id].shape = graph.value(id).shape;
  }

  std::vector<SymbolicValue> Run() && {
    for (const Node& node : graph_.nodes) Infer(node);
    return std::move(values_);
  }

 private:
  void Infer(const Node& node) {
    SymbolicOperands operands{node, {}};
    for (ValueId id : node.inputs)
      operands.values.push_back(id == kNoValue ? nullptr : &values_[id]);
    std::vector<SymbolicShape> shapes = ShapesOf(node, operands);
    for (size_t i = 0; i < node.outputs.size(); ++i) {
      ValueId id = node.outputs[i];
      if (id == kNoValue) continue;
      SymbolicValue& value = values_[id];
      if (i < shapes.size()) value.shape = shapes[i];
      // A shape that the model declares is better than nothing.
      if (!value.shape && !graph_.value(id).shape.empty()) value.shape = graph_.value(id).shape;
      bool whole_numbers = graph_.value(id).dtype.is_integer() || graph_.value(id).dtype == kBool;
      if (i == 0 && value.shape && whole_numbers) {
        value.elements = SymbolicElements(operands, *value.shape);
      }
      ForgetLongFormulas(value.shape);
      ForgetLongFormulas(value.elements);
      if (value.HasShape()) known_.values[id].shape = *value.shape;
    }
    Evaluate(node);
  }

  // Evaluates values that do not depend on free dimensions.
  void Evaluate(const Node& node) {
    constexpr EvaluationLimits kLimits = {.max_bytes = 4096, .max_instances = 1 << 16};
    bool is_known =
        FormOf(node.op) != OpForm::kUnlowered && std::ranges::all_of(node.inputs, [&](ValueId id) {
          return id == kNoValue || values_[id].HasShape();
        });
    if (!is_known || !IsComputable(known_, node)) return;
    StatusOr<std::vector<Tensor>> results = EvaluateNode(known_, node, kLimits);
    if (!results.ok()) return;
    for (size_t i = 0; i < node.outputs.size(); ++i) {
      ValueId id = node.outputs[i];
      if (id == kNoValue || (*results)[i].dtype != graph_.value(id).dtype) continue;
      known_.values[id].constant = (*results)[i];
      known_.values[id].shape = ToExprs((*results)[i].shape);
      values_[id] = OfConstant((*results)[i]);
    }
  }

  // Returns the shapes from the node's lowering if all operands have known extents, else from its
  // rule.
  std::vector<SymbolicShape> ShapesOf(const Node& node, const SymbolicOperands& operands) {
    if (node.op == OpKind::kConstant) return ShapeOfConstant(node);
    bool is_static = std::ranges::all_of(node.inputs, [&](ValueId id) {
      return id == kNoValue || (values_[id].HasShape() && StaticShape(known_.value(id)));
    });
    if (is_static && FormOf(node.op) != OpForm::kUnlowered) {
      StatusOr<LoweredNode> lowered = LowerNode(known_, node);
      if (lowered.ok()) {
        std::vector<SymbolicShape> shapes(node.outputs.size());
        for (size_t e = 0; e < lowered->outputs.size(); ++e) {
          auto at = std::ranges::find(node.outputs, lowered->outputs[e]);
          shapes[at - node.outputs.begin()] = lowered->program.outputs[e].shape;
        }
        return shapes;
      }
    }
    return SymbolicOutputShapes(operands);
  }

  std::vector<SymbolicShape> ShapeOfConstant(const Node& node) {
    for (const auto& [key, attribute] : node.attributes) {
      if (const auto* tensor = std::get_if<Tensor>(&attribute)) return {ToExprs(tensor->shape)};
    }
    return {};
  }

  const Graph& graph_;
  Graph known_;  // the graph with the known shapes, for lowerings
  std::vector<SymbolicValue> values_;
};

}  // namespace

std::vector<SymbolicValue> InferSymbolicShapes(const Graph& graph) {
  return SymbolicInference(graph).Run();
}

}  // namespace tcc
