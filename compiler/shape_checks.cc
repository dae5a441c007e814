#include "compiler/shape_checks.h"

#include <algorithm>
#include <unordered_set>

#include "graph/ops/node_lowering.h"
#include "ir/expr/compare.h"
#include "ir/expr/visitor.h"
#include "ir/simplify/simplify.h"

namespace tcc {
namespace {

// Returns the dimension to bind where two of these meet: a lone variable that the other formula
// does not use, or nullptr.
const VarNode* DimToBind(const Agreement& agreement) {
  for (const auto& [dim, other] :
       {std::pair(agreement.b, agreement.a), {agreement.a, agreement.b}}) {
    const auto* var = dim.as<VarNode>();
    if (var != nullptr && !UsesVar(other, Var(var))) return var;
  }
  return nullptr;
}

std::string MessageOf(const Agreement& agreement) {
  std::string message = fmt::format("{} are {} and {}, which have to be equal", agreement.where,
                                    ShapeText({agreement.a}), ShapeText({agreement.b}));
  const VarNode* dim = DimToBind(agreement);
  if (dim == nullptr) return message;
  return message + fmt::format(
                       "; where one is always 1, compile the model with it bound, e.g. "
                       "--dim {}=1",
                       dim->name);
}

class CheckFinder {
 public:
  void AddGraph(const Graph& graph) {
    for (const Agreement& agreement : graph.agreements) {
      Add(Make<Eq>(agreement.a, agreement.b), MessageOf(agreement));
    }
    for (const Node& node : graph.nodes) {
      for (ValueId id : node.outputs) {
        if (id != kNoValue) AddExtents(node, graph.value(id));
      }
      for (const Graph& body : node.bodies) AddGraph(body);
    }
  }

  std::vector<ShapeCheck> Take() && { return std::move(checks_); }

 private:
  void AddExtents(const Node& node, const Value& value) {
    for (size_t axis = 0; axis < value.shape.size(); ++axis) {
      const Expr& extent = value.shape[axis];
      if (AsConstant(extent) || extent.as<VarNode>()) continue;
      Add(Expr(0) <= extent,
          fmt::format("node '{}' ({}): dimension {} of '{}' is {}, which is negative here",
                      node.name, ToString(node.op), axis, value.name, ShapeText({extent})));
    }
  }

  void Add(const Expr& condition, std::string message) {
    Expr holds = Simplify(condition);
    if (Decide(holds, {}) == Proof::kTrue || !known_.insert(holds).second) return;
    checks_.push_back({std::move(holds), std::move(message)});
  }

  std::unordered_set<Expr, ExprHash, ExprEqual> known_;
  std::vector<ShapeCheck> checks_;
};

}  // namespace

std::vector<ShapeCheck> ShapeChecksOf(const Graph& graph) {
  CheckFinder finder;
  finder.AddGraph(graph);
  return std::move(finder).Take();
}

}  // namespace tcc
