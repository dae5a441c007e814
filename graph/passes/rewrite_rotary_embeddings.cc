#include <algorithm>

#include "graph/ops/node_lowering.h"
#include "graph/passes/edit.h"
#include "graph/passes/passes.h"
#include "graph/passes/pattern.h"

namespace tcc {
namespace {

// x * cos + turned * sin, where turned is (-second half, first half) of the last dimension.
Pattern Rotated() {
  Pattern x = AnyValue("x");
  Pattern turned =
      NodePattern(OpKind::kConcat,
                  {NodePattern(OpKind::kNeg, {NodePattern(OpKind::kSlice, {x}, "high")}),
                   NodePattern(OpKind::kSlice, {x}, "low")},
                  "turned");
  return NodePattern(OpKind::kAdd, {NodePattern(OpKind::kMul, {x, AnyValue("cos")}),
                                    NodePattern(OpKind::kMul, {turned, AnyValue("sin")})});
}

bool IsLast(int64_t axis, size_t rank) {
  return axis == -1 || axis == static_cast<int64_t>(rank) - 1;
}

// The first element of a Slice of the last dimension alone, in steps of one.
std::optional<int64_t> StartInLast(const Graph& graph, const Node& slice) {
  size_t rank = graph.value(slice.inputs[0]).shape.size();
  auto only = [&](size_t input) -> std::optional<int64_t> {
    const Tensor* tensor =
        input < slice.inputs.size() ? graph.ConstantOf(slice.inputs[input]) : nullptr;
    bool single = tensor && ElementCount(tensor->shape).value_or(0) == 1;
    return single ? std::optional(ElementAsInt(*tensor, 0)) : std::nullopt;
  };
  bool has_steps = slice.inputs.size() > 4 && slice.inputs[4] != kNoValue;
  std::optional<int64_t> axis = only(3);
  if (!axis || !IsLast(*axis, rank) || (has_steps && only(4) != 1)) return std::nullopt;
  return only(1);
}

bool HalvesAreEqual(const Tensor& tensor) {
  int64_t size = tensor.shape.empty() ? 0 : tensor.shape.back();
  int64_t row_bytes = size * tensor.dtype.bytes();
  if (size == 0 || size % 2 != 0) return false;
  for (const uint8_t* row = tensor.bytes.data(); row != tensor.bytes.data() + tensor.bytes.size();
       row += row_bytes) {
    if (!std::equal(row, row + row_bytes / 2, row + row_bytes / 2)) return false;
  }
  return true;
}

// Whether both halves of the last dimension hold the same: a constant that does, or a Concat of one
// value with itself behind functions of single elements and views that leave that dimension alone.
bool HalvesAreEqual(const Graph& graph, const std::vector<int>& producers, ValueId id) {
  constexpr OpKind kOfOne[] = {OpKind::kCos,     OpKind::kSin,       OpKind::kCast,
                               OpKind::kReshape, OpKind::kUnsqueeze, OpKind::kSqueeze};
  Expr size = graph.value(id).shape.empty() ? Expr(1) : graph.value(id).shape.back();
  while (true) {
    if (const Tensor* constant = graph.ConstantOf(id)) return HalvesAreEqual(*constant);
    const std::vector<Expr>& shape = graph.value(id).shape;
    if (producers[id] < 0 || shape.empty() || !SameExtent(shape.back(), size)) return false;
    const Node& node = graph.nodes[producers[id]];
    if (node.op == OpKind::kConcat) {
      return node.inputs.size() == 2 && node.inputs[0] == node.inputs[1] &&
             IsLast(node.Int("axis", 0), shape.size());
    }
    bool scales = node.op == OpKind::kMul && node.inputs.size() == 2 &&
                  graph.ConstantOf(node.inputs[1]) &&
                  ElementCount(graph.ConstantOf(node.inputs[1])->shape).value_or(0) == 1;
    if (!scales && std::find(std::begin(kOfOne), std::end(kOfOne), node.op) == std::end(kOfOne)) {
      return false;
    }
    id = node.inputs[0];
  }
}

// The first half of a table [.., 1, S, D] under `shape`: two nodes before the rewritten one.
ValueId HalfTable(Rewrite& rewrite, ValueId table, const std::vector<Expr>& shape) {
  Graph& graph = rewrite.graph;
  std::string name = graph.value(table).name + ".half";
  std::vector<Expr> sliced = graph.value(table).shape;
  sliced.back() = shape.back();
  DType dtype = graph.value(table).dtype;
  std::vector<ValueId> inputs = {table, AddSizes(graph, name + ".from", {Expr(0)}),
                                 AddSizes(graph, name + ".to", {shape.back()}),
                                 AddSizes(graph, name + ".axis", {Expr(-1)})};
  ValueId slice = rewrite.Emit(OpKind::kSlice, name, inputs, dtype, sliced);
  return rewrite.Emit(OpKind::kReshape, name + ".rows",
                      {slice, AddSizes(graph, name + ".shape", shape)}, dtype, shape,
                      {{"allowzero", int64_t{0}}});
}

// Returns whether the table is [1.., S, D] for x of this shape.
bool IsOneTable(std::span<const Expr> table, std::span<const Expr> x) {
  return table.size() >= 2 && SameShape(table.last(2), x.last(2)) &&
         std::ranges::all_of(table.first(table.size() - 2),
                             [](const Expr& dim) { return IsConstant(dim, 1); });
}

// x: [B, heads, S, D], tables of one row for each position, the same for every head and batch.
std::optional<Node> RotaryEmbedding(Rewrite& rewrite) {
  Graph& graph = rewrite.graph;
  ValueId x = rewrite.Bound("x");
  std::vector<Expr> shape = graph.value(x).shape;
  int64_t size = shape.size() == 4 ? AsConstant(shape[3]).value_or(0) : 0;
  if (size == 0 || size % 2 != 0) return std::nullopt;
  int64_t half = size / 2;
  const Node& turned = rewrite.NodeAt("turned");
  bool joined = turned.inputs.size() == 2 && IsLast(turned.Int("axis", 0), 4);
  const std::vector<Expr>& low = rewrite.ShapeOf(rewrite.NodeAt("low").outputs[0]);
  const std::vector<Expr>& high = rewrite.ShapeOf(rewrite.NodeAt("high").outputs[0]);
  if (!joined || StartInLast(graph, rewrite.NodeAt("low")) != 0 ||
      StartInLast(graph, rewrite.NodeAt("high")) != half || !IsConstant(low.back(), half) ||
      !IsConstant(high.back(), half)) {
    return std::nullopt;
  }
  std::vector<int> producers = ProducersOf(graph);
  for (const char* name : {"cos", "sin"}) {
    ValueId table = rewrite.Bound(name);
    if (!IsOneTable(graph.value(table).shape, shape) ||
        graph.value(table).dtype != graph.value(x).dtype ||
        !HalvesAreEqual(graph, producers, table)) {
      return std::nullopt;
    }
  }
  // One batch has its tables [batch, S, D / 2], several share tables [S, D / 2] from position 0 on.
  bool shared = !IsConstant(shape[0], 1);
  std::vector<Expr> rows = {shape[2], Expr(half)};
  if (!shared) rows.insert(rows.begin(), Expr(1));
  Node node;
  node.inputs = {x, HalfTable(rewrite, rewrite.Bound("cos"), rows),
                 HalfTable(rewrite, rewrite.Bound("sin"), rows)};
  if (shared) node.inputs.push_back(AddSizes(graph, "first_position", {Expr(0)}));
  return node;
}

constexpr RewriteRule kRules[] = {
    {"rotary_embedding", OpKind::kAdd, OpKind::kRotaryEmbedding, Rotated, RotaryEmbedding},
};

Status ApplyInBodiesToo(Graph& graph) {
  TCC_RETURN_IF_ERROR(ApplyRules(graph, kRules));
  for (Node& node : graph.nodes) {
    for (Graph& body : node.bodies) TCC_RETURN_IF_ERROR(ApplyInBodiesToo(body));
  }
  return OkStatus();
}

}  // namespace

Status RewriteRotaryEmbeddings(Graph& graph) {
  TCC_RETURN_IF_ERROR(ApplyInBodiesToo(graph));
  // Each embedding was given tables of its own.
  return SimplifyToFixedPoint(graph);
}

}  // namespace tcc
