#include "graph/passes/agreements.h"

#include <algorithm>

#include "graph/ops/node_lowering.h"
#include "graph/ops/normal_form.h"
#include "graph/passes/elements.h"
#include "graph/passes/infer_shapes.h"
#include "ir/expr/visitor.h"
#include "ir/simplify/simplify.h"

namespace tcc {
namespace {

void Rewrite(const Graph& around, std::vector<Expr>& formulas, const Substitution& values) {
  for (Expr& formula : formulas) {
    if (AsConstant(formula)) continue;
    formula = NormalForm(around, values.empty() ? formula : Substitute(formula, values));
  }
}

// Makes constants of elements that have become numbers, and removes the nodes that computed them.
void FoldElements(Graph& graph) {
  std::vector<bool> folded(graph.values.size(), false);
  for (size_t id = 0; id < graph.values.size(); ++id) {
    Value& value = graph.values[id];
    std::optional<std::vector<int64_t>> numbers = AsNumbers(value.elements);
    bool is_input = std::ranges::count(graph.inputs, static_cast<ValueId>(id)) > 0;
    if (value.elements.empty() || !numbers || is_input) continue;
    value.constant = TensorOfInts(value.dtype, *StaticShape(value), *numbers);
    value.elements.clear();
    folded[id] = true;
  }
  std::erase_if(graph.nodes, [&](const Node& node) {
    return node.outputs.size() == 1 && folded[static_cast<size_t>(node.outputs[0])];
  });
}

// Rewrites the formulas of a graph and its bodies; `around` has the agreements.
void Rewrite(const Graph& around, Graph& graph, const Substitution& values) {
  for (Value& value : graph.values) {
    Rewrite(around, value.shape, values);
    Rewrite(around, value.elements, values);
  }
  FoldElements(graph);
  std::erase_if(graph.shape_vars, [&](const Var& var) { return values.contains(var); });
  for (Node& node : graph.nodes) {
    for (Graph& body : node.bodies) Rewrite(around, body, values);
  }
}

// Returns the place of a lone variable of the graph; nullopt for another formula.
std::optional<size_t> PlaceOfVar(const Graph& graph, const Expr& formula) {
  for (size_t i = 0; i < graph.shape_vars.size(); ++i) {
    if (formula.same_as(graph.shape_vars[i])) return i;
  }
  return std::nullopt;
}

// Refuses an agreement that holds for no values of the Shape variables.
Status CheckPossible(const Agreement& pair) {
  Interval difference = BoundsOf(Simplify(pair.a - pair.b), {});
  if (difference.low <= 0 && 0 <= difference.high) return OkStatus();
  return InvalidInput("{} are {} and {}", pair.where, ShapeText({pair.a}), ShapeText({pair.b}));
}

// Returns the variable that an agreement settles, and its value: one side is a lone variable of the
// graph that the other side does not use. Of two lone variables the later one is settled. Empty if
// the agreement settles none.
Substitution Settled(const Graph& graph, const Agreement& agreement) {
  std::optional<size_t> a = PlaceOfVar(graph, agreement.a);
  std::optional<size_t> b = PlaceOfVar(graph, agreement.b);
  if (a && (!b || *a > *b) && !UsesVar(agreement.b, graph.shape_vars[*a])) {
    return {{graph.shape_vars[*a], agreement.b}};
  }
  if (b && !UsesVar(agreement.a, graph.shape_vars[*b])) {
    return {{graph.shape_vars[*b], agreement.a}};
  }
  return {};
}

}  // namespace

Status BindAtUsual(Graph& graph) {
  if (graph.shape_vars.empty()) return OkStatus();
  TCC_RETURN_IF_ERROR(InferShapes(graph));
  Substitution usual;
  for (const Var& var : graph.shape_vars) usual.emplace(var, Expr(var->usual));
  SubstituteDims(graph, usual);
  for (const Agreement& pair : graph.agreements) {
    return InvalidInput("at the usual sizes of the free dimensions, {} are {} and {}", pair.where,
                        ShapeText({pair.a}), ShapeText({pair.b}));
  }
  return OkStatus();
}

void SubstituteDims(Graph& graph, const Substitution& values) {
  std::vector<Agreement> agreements = std::exchange(graph.agreements, {});
  for (Agreement& pair : agreements) {
    pair.a = NormalForm(graph, Substitute(pair.a, values));
    pair.b = NormalForm(graph, Substitute(pair.b, values));
    if (!SameExtent(pair.a, pair.b)) graph.agreements.push_back(std::move(pair));
  }
  Rewrite(graph, graph, values);
}

StatusOr<Substitution> AddAgreements(Graph& graph, const std::vector<Agreement>& agreements) {
  Substitution replaced;
  for (const Agreement& fresh : agreements) {
    Agreement pair = fresh;
    pair.a = NormalForm(graph, Substitute(pair.a, replaced));
    pair.b = NormalForm(graph, Substitute(pair.b, replaced));
    if (SameExtent(pair.a, pair.b)) continue;
    TCC_RETURN_IF_ERROR(CheckPossible(pair));
    Substitution settled = Settled(graph, pair);
    if (settled.empty()) {
      // The variable of an input's dimension stays, which binds it.
      if (WrittenSize(pair.b) < WrittenSize(pair.a)) std::swap(pair.a, pair.b);
      graph.agreements.push_back(std::move(pair));
      Rewrite(graph, graph, {});
      continue;
    }
    for (auto& [var, value] : replaced) value = Substitute(value, settled);
    replaced.insert(settled.begin(), settled.end());
    SubstituteDims(graph, settled);
    for (const Agreement& other : graph.agreements) TCC_RETURN_IF_ERROR(CheckPossible(other));
  }
  return replaced;
}

}  // namespace tcc
