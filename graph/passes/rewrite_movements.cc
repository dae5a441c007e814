#include <algorithm>

#include "graph/ops/normal_form.h"
#include "graph/passes/edit.h"
#include "graph/passes/passes.h"
#include "graph/passes/pattern.h"

namespace tcc {
namespace {

Pattern TransposedTwice() {
  return NodePattern(OpKind::kTranspose,
                     {NodePattern(OpKind::kTranspose, {AnyValue("x")}, "first")}, "second");
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
    ways.push_back(NodePattern(inner, {AnyValue("x")}));
  }
  return NodePattern(kOuter, {Either(ways)});
}

// A Reshape of the value to the shape that comes out in the end.
std::optional<Node> ReshapeTo(Rewrite& rewrite, ValueId x) {
  Graph& graph = rewrite.graph;
  const Value result = graph.value(rewrite.match.result);
  // A dimension of 0 says something else in a Reshape.
  if (std::ranges::any_of(result.shape, [](const Expr& dim) { return IsConstant(dim, 0); })) {
    return std::nullopt;
  }
  Node node;
  node.inputs = {x, AddSizes(graph, result.name + ".shape", result.shape)};
  node.attributes["allowzero"] = int64_t{0};
  return node;
}

std::optional<Node> OneReshape(Rewrite& rewrite) {
  return ReshapeTo(rewrite, rewrite.Bound("x"));
}

Pattern Picked() {
  return NodePattern(OpKind::kGather, {AnyValue("data"), AnyNumber("index")}, "gather");
}

// One index picks a slice, under the shape that comes out.
std::optional<Node> SliceThenReshape(Rewrite& rewrite) {
  Graph& graph = rewrite.graph;
  ValueId data = rewrite.Bound("data");
  std::vector<Expr> shape = rewrite.ShapeOf(data);
  const Tensor& index = *graph.ConstantOf(rewrite.Bound("index"));
  if (ElementCount(index.shape).value_or(0) != 1) return std::nullopt;
  auto rank = static_cast<int64_t>(shape.size());
  int64_t axis = rewrite.NodeAt("gather").Int("axis", 0);
  if (axis < 0) axis += rank;
  int64_t at = ElementAsInt(index, 0);
  Expr from = at < 0 ? NormalForm(graph, Plus(shape[axis], at)) : Expr(at);
  Expr to = NormalForm(graph, Plus(from, 1));
  shape[axis] = Expr(1);

  std::string name = graph.value(rewrite.match.result).name + ".slice";
  auto number = [&](const char* what, const Expr& value) {
    return AddSizes(graph, name + what, {value});
  };
  ValueId slice =
      rewrite.Emit(OpKind::kSlice, name,
                   {data, number(".from", from), number(".to", to), number(".axis", Expr(axis))},
                   graph.value(data).dtype, shape);
  return ReshapeTo(rewrite, slice);
}

// clang-format off
constexpr RewriteRule kRules[] = {
    // name                    root                 result               pattern                           replacement
    {"transposes",             OpKind::kTranspose,  OpKind::kTranspose,  TransposedTwice,                  OneTranspose},
    {"gather_of_one",          OpKind::kGather,     OpKind::kReshape,    Picked,                           SliceThenReshape},
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
