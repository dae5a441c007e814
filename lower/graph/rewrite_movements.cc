#include <algorithm>

#include "lower/graph/edit.h"
#include "lower/graph/passes.h"
#include "lower/graph/pattern.h"

namespace tcc {
namespace {

Pattern TransposedTwice() {
  return Call(OpKind::kTranspose, {Call(OpKind::kTranspose, {AnyValue("x")}, "first")}, "second");
}

// Dimension d of the result is dimension first[second[d]] of x.
std::optional<Node> OneTranspose(Rewrite& rewrite) {
  std::vector<int64_t> first = rewrite.NodeAt("first").Ints("perm");
  std::vector<int64_t> second = rewrite.NodeAt("second").Ints("perm");
  if (first.empty() || first.size() != second.size()) return std::nullopt;
  std::vector<int64_t> perm;
  for (int64_t dim : second) perm.push_back(first[dim]);
  Node node;
  node.inputs = {rewrite.Bound("x")};
  node.attributes["perm"] = perm;
  return node;
}

template <OpKind kOuter>
Pattern ViewedTwice() {
  std::vector<Pattern> ways;
  for (OpKind inner : {OpKind::kReshape, OpKind::kFlatten, OpKind::kSqueeze, OpKind::kUnsqueeze}) {
    ways.push_back(Call(inner, {AnyValue("x")}));
  }
  return Call(kOuter, {Either(ways)});
}

// To the shape that comes out in the end.
std::optional<Node> OneReshape(Rewrite& rewrite) {
  Graph& graph = rewrite.graph;
  std::optional<std::vector<int64_t>> shape = StaticShape(graph.value(rewrite.match.result));
  // A dimension of 0 says something else in a Reshape.
  if (!shape || std::count(shape->begin(), shape->end(), 0) > 0) return std::nullopt;
  Tensor target = MakeZeroTensor(kInt64, {static_cast<int64_t>(shape->size())});
  for (size_t d = 0; d < shape->size(); ++d) {
    SetElementInt(target, static_cast<int64_t>(d), (*shape)[d]);
  }
  Node node;
  node.inputs = {rewrite.Bound("x"),
                 AddConstant(graph, graph.value(rewrite.match.result).name + ".shape", target)};
  node.attributes["allowzero"] = int64_t{0};
  return node;
}

// clang-format off
constexpr RewriteRule kRules[] = {
    // name                    root                 result               pattern                           replacement
    {"transposes",             OpKind::kTranspose,  OpKind::kTranspose,  TransposedTwice,                  OneTranspose},
    {"reshape_of_view",        OpKind::kReshape,    OpKind::kReshape,    ViewedTwice<OpKind::kReshape>,    OneReshape},
    {"flatten_of_view",        OpKind::kFlatten,    OpKind::kReshape,    ViewedTwice<OpKind::kFlatten>,    OneReshape},
    {"squeeze_of_view",        OpKind::kSqueeze,    OpKind::kReshape,    ViewedTwice<OpKind::kSqueeze>,    OneReshape},
    {"unsqueeze_of_view",      OpKind::kUnsqueeze,  OpKind::kReshape,    ViewedTwice<OpKind::kUnsqueeze>,  OneReshape},
};
// clang-format on

}  // namespace

Status RewriteMovements(Graph& graph) {
  return ApplyRules(graph, kRules);
}

}  // namespace tcc
