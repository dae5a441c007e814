#include "graph/passes/declared_shapes.h"

#include <fmt/core.h>

#include "graph/ops/node_lowering.h"
#include "support/check.h"

namespace tcc {
namespace {

bool Agrees(const std::vector<Expr>& declared, const std::vector<Expr>& inferred) {
  if (declared.size() != inferred.size()) return false;
  for (size_t d = 0; d < declared.size(); ++d) {
    bool known = AsConstant(declared[d]) && AsConstant(inferred[d]);
    if (known && AsConstant(declared[d]) != AsConstant(inferred[d])) return false;
  }
  return true;
}

}  // namespace

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
    if (declared[i].empty() || Agrees(declared[i], inferred)) continue;
    lines.push_back(fmt::format("output '{}' is declared as {}; its node gives {}", names[i],
                                ShapeText(declared[i]), ShapeText(inferred)));
  }
  return lines;
}

}  // namespace tcc
