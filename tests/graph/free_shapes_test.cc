#include "graph/passes/infer_shapes.h"

#include <catch2/catch.hpp>

#include "graph/passes/agreements.h"
#include "graph/passes/passes.h"
#include "ir/text/printer.h"
#include "tests/graph/one_node.h"
#include "tests/ir/parsed_graph.h"

using namespace tcc;

namespace {

// A graph over x: f32[N, S, 12], N and S at least 1.
struct DynamicGraph {
  DynamicGraph() : x(builder.Input("x", kFloat32, {1, 1, 12})) {}

  ValueId Ints64(const std::vector<int64_t>& numbers) {
    return builder.Constant("c" + std::to_string(next++),
                            I64({static_cast<int64_t>(numbers.size())}, numbers));
  }
  ValueId Number(int64_t number) {
    return builder.Constant("c" + std::to_string(next++), I64({}, {number}));
  }
  ValueId Call(OpKind op, std::vector<ValueId> operands, Attributes attributes = {}) {
    return builder.Add("n" + std::to_string(next++), op, std::move(operands),
                       std::move(attributes));
  }
  // Dimension `axis` of x as a vector of one element.
  ValueId Dim(int64_t axis) {
    return Call(OpKind::kGather, {Call(OpKind::kShape, {x}), Ints64({axis})},
                {{"axis", int64_t{0}}});
  }
  ValueId Vector(std::vector<ValueId> parts) {
    return Call(OpKind::kConcat, std::move(parts), {{"axis", int64_t{0}}});
  }

  // Returns "[N, S, 12]", or what inference refuses.
  std::string Shape(ValueId id) const {
    Graph graph = builder.Build();
    Var n = ShapeVar("N", 1, 1 << 20);
    Var s = ShapeVar("S", 1, 1 << 20);
    graph.shape_vars = {n, s};
    graph.values[x].shape = {n, s, Expr(12)};
    // The importer knows every dtype.
    for (Node& node : graph.nodes) {
      bool is_float = node.op != OpKind::kShape && graph.value(node.inputs[0]).dtype == kFloat32;
      graph.values[node.outputs[0]].dtype = is_float ? kFloat32 : kInt64;
      if (node.op == OpKind::kConstantOfShape) graph.values[node.outputs[0]].dtype = kInt64;
    }
    if (Status status = InferShapes(graph); !status.ok()) return Message(status);
    std::string text;
    for (const Expr& dim : graph.value(id).shape) text += (text.empty() ? "" : ", ") + Print(dim);
    return "[" + text + "]";
  }

  TestGraph builder;
  ValueId x;
  int next = 0;
};

using Constants = std::vector<std::pair<std::string, Tensor>>;

Graph Inferred(const std::string& text, const Constants& constants = {}) {
  Graph graph = ParsedGraph(text, constants);
  Status status = InferShapes(graph);
  REQUIRE(status == OkStatus());
  REQUIRE(VerifyGraph(graph) == OkStatus());
  return graph;
}

}  // namespace

TEST_CASE("a head split by shape arithmetic has formulas for dimensions", "[graph][shapes]") {
  DynamicGraph g;
  ValueId target = g.Vector({g.Dim(0), g.Dim(1), g.Ints64({3}), g.Ints64({-1})});
  ValueId heads = g.Call(OpKind::kReshape, {g.x, target});
  CHECK(g.Shape(heads) == "[N, S, 3, 4]");
  ValueId moved = g.Call(OpKind::kTranspose, {heads}, {{"perm", Ints{0, 2, 1, 3}}});
  CHECK(g.Shape(moved) == "[N, 3, S, 4]");
  ValueId other = g.Call(OpKind::kTranspose, {heads}, {{"perm", Ints{0, 2, 3, 1}}});
  CHECK(g.Shape(g.Call(OpKind::kMatMul, {moved, other})) == "[N, 3, S, S]");
}

TEST_CASE("a dimension of -1 takes what is left, symbolic factors cancelled", "[graph][shapes]") {
  DynamicGraph g;
  CHECK(g.Shape(g.Call(OpKind::kReshape, {g.x, g.Ints64({0, -1})})) == "[N, S * 12]");
  CHECK(g.Shape(g.Call(OpKind::kReshape, {g.x, g.Vector({g.Dim(1), g.Ints64({-1})})})) ==
        "[S, N * 12]");
  CHECK(g.Shape(g.Call(OpKind::kReshape, {g.x, g.Ints64({-1, 6})})) == "[N * S * 2, 6]");
  CHECK(g.Shape(g.Call(OpKind::kFlatten, {g.x}, {{"axis", int64_t{2}}})) == "[N * S, 12]");
}

TEST_CASE("an expansion with -1 sentinels is settled by comparison", "[graph][shapes]") {
  // Exporters write Expand(x, Where(shape == -1, ones, shape)).
  DynamicGraph g;
  ValueId shape = g.Vector({g.Dim(0), g.Ints64({-1}), g.Ints64({12})});
  ValueId minus = g.Ints64({-1, -1, -1});
  ValueId chosen =
      g.Call(OpKind::kWhere, {g.Call(OpKind::kEqual, {shape, minus}), g.Ints64({1, 1, 1}), shape});
  ValueId token = g.builder.Constant("token", RandomF32({1, 1, 12}, 1));
  CHECK(g.Shape(g.Call(OpKind::kExpand, {token, chosen})) == "[N, 1, 12]");
}

TEST_CASE("ranges and fills take their lengths from dimensions", "[graph][shapes]") {
  DynamicGraph g;
  ValueId length = g.Call(OpKind::kSqueeze, {g.Dim(1), g.Ints64({0})});
  CHECK(g.Shape(g.Call(OpKind::kRange, {g.Number(0), length, g.Number(1)})) == "[S]");
  ValueId twice = g.Call(OpKind::kMul, {g.Dim(1), g.Ints64({2})});
  CHECK(g.Shape(g.Call(OpKind::kConstantOfShape, {g.Vector({g.Dim(0), twice})})) == "[N, S * 2]");
}

TEST_CASE("a slice is inferred where its ends are settled", "[graph][shapes]") {
  DynamicGraph g;
  auto sliced = [&](ValueId from, ValueId to) {
    return g.Shape(g.Call(OpKind::kSlice, {g.x, from, to, g.Ints64({1})}));
  };
  CHECK(sliced(g.Ints64({0}), g.Ints64({INT64_MAX})) == "[N, S, 12]");
  CHECK(sliced(g.Ints64({0}), g.Dim(1)) == "[N, S, 12]");
  CHECK(sliced(g.Ints64({-1}), g.Ints64({INT64_MAX})) == "[N, 1, 12]");
}

TEST_CASE("a shape that data decides is refused by the node that asks for it", "[graph][shapes]") {
  DynamicGraph g;
  ValueId target = g.builder.Input("target", kInt64, {3});
  CHECK(g.Shape(g.Call(OpKind::kReshape, {g.x, target})) ==
        "node 'n0' (Reshape): shape is computed from 'target' at run time; expected a constant");
  DynamicGraph other;
  ValueId scalar = other.builder.Input("scalar", kInt64, {1});
  ValueId filled = other.Call(OpKind::kConstantOfShape, {other.Vector({other.Dim(0), scalar})});
  CHECK(other.Shape(filled) ==
        "node 'n4' (ConstantOfShape): shape is computed from 'scalar' at run time; expected a "
        "constant");
}

TEST_CASE("attention has as many rows as queries", "[graph][shapes]") {
  DynamicGraph g;
  ValueId packed = g.Call(OpKind::kAttention, {g.x, g.x, g.x},
                          {{"q_num_heads", int64_t{3}}, {"kv_num_heads", int64_t{3}}});
  CHECK(g.Shape(packed) == "[N, S, 12]");
  ValueId target = g.Vector({g.Dim(0), g.Dim(1), g.Ints64({3}), g.Ints64({-1})});
  ValueId heads = g.Call(OpKind::kReshape, {g.x, target});
  ValueId moved = g.Call(OpKind::kTranspose, {heads}, {{"perm", Ints{0, 2, 1, 3}}});
  CHECK(g.Shape(g.Call(OpKind::kAttention, {moved, moved, moved})) == "[N, 3, S, 4]");
}

TEST_CASE("a dimension whose formula doubles with every step is refused, not written out",
          "[graph][shapes]") {
  DynamicGraph g;
  auto stepped = [&](int steps) {
    ValueId dim = g.Dim(0);
    for (int i = 0; i < steps; ++i) {
      ValueId half = g.Call(OpKind::kDiv, {dim, g.Ints64({2})});
      dim = g.Call(OpKind::kMax, {half, g.Call(OpKind::kSub, {dim, g.Ints64({i + 1})})});
    }
    return g.Shape(g.Call(OpKind::kConstantOfShape, {g.Vector({dim, g.Dim(1)})}));
  };
  CHECK(stepped(0) == "[N, S]");
  CHECK(stepped(1) == "[max(N - 1, N div 2), S]");
  CHECK_THAT(stepped(40), Catch::Matchers::Contains("shape is computed at run time"));
}

TEST_CASE("dimensions that are cut off leave an empty list, which is known", "[graph][shapes]") {
  // Exporters write Concat(shape[:2], [3, -1], shape[3:]).
  DynamicGraph g;
  ValueId dims = g.Call(OpKind::kShape, {g.x});
  ValueId none = g.Call(OpKind::kSlice, {dims, g.Ints64({3}), g.Ints64({INT64_MAX})});
  ValueId front = g.Call(OpKind::kSlice, {dims, g.Ints64({0}), g.Ints64({2})});
  ValueId target = g.Vector({front, g.Ints64({3, -1}), none});
  CHECK(g.Shape(g.Call(OpKind::kReshape, {g.x, target})) == "[N, S, 3, 4]");
}

TEST_CASE("windows over free dimensions are formulas", "[graph][shapes]") {
  DynamicGraph g;
  ValueId w = g.builder.Constant("w", RandomF32({5, 4, 3}, 1));
  ValueId y = g.Call(OpKind::kConv, {g.x, w}, {{"pads", Ints{1, 1}}, {"strides", Ints{2}}});
  CHECK(g.Shape(y) == "[N, 5, 6]");  // four channels, as the weight has
}

TEST_CASE("a lone dimension that meets a formula becomes that formula in its input", "[graph]") {
  // A mask over past and present, whose length has a name of its own.
  Graph graph = Inferred(R"(graph g {
    dim P in 0..64 usual 32
    dim S in 1..64 usual 8
    dim T in 1..4096
    input past: f32[P, 4]
    input x: f32[S, 4]
    input mask: f32[T, 4]
    keys = Concat(past, x) {axis: 0} : f32[]
    y = Add(keys, mask) : f32[]
    return y
  })");
  CHECK(Print(graph) == R"(graph g {
  dim P in 0..64 usual 32
  dim S in 1..64 usual 8
  input past: f32[P, 4]
  input x: f32[S, 4]
  input mask: f32[P + S, 4]
  keys = Concat(past, x) {axis: 0} : f32[P + S, 4]
  y = Add(keys, mask) : f32[P + S, 4]
  return y
}
)");
}

TEST_CASE("a list of no dimensions is known, and joins others", "[graph]") {
  // Exporters write shape[:2], new dimensions, shape[3:] where the tensor has three dimensions.
  Graph graph = Inferred(R"(graph g {
    dim N in 1..64 usual 8
    input x: f32[N, 3, 8]
    sizes zero: i64[1] = [0]
    sizes two: i64[1] = [2]
    sizes three: i64[1] = [3]
    sizes halves: i64[2] = [2, 4]
    dims = Shape(x) : i64[]
    before = Slice(dims, zero, two) : i64[]
    behind = Slice(dims, three, three) : i64[]
    target = Concat(before, halves, behind) {axis: 0} : i64[]
    y = Reshape(x, target) : f32[]
    return y
  })");
  CHECK(ShapeText(graph.value(graph.outputs[0]).shape) == "Nx3x2x4");
}

TEST_CASE("of two lone dimensions that meet the earlier one stays", "[graph]") {
  Graph graph = Inferred(R"(graph g {
    dim N in 1..64 usual 8
    dim M in 1..64 usual 8
    input a: f32[N, 4]
    input b: f32[M, 4]
    z = Exp(b) : f32[]
    y = Add(z, a) : f32[]
    return y
  })");
  REQUIRE(graph.shape_vars.size() == 1);
  CHECK(graph.shape_vars[0]->name == "N");
  CHECK(
      SameShape(graph.value(graph.nodes[0].outputs[0]).shape, graph.value(graph.inputs[0]).shape));
  CHECK(graph.agreements.empty());
}

TEST_CASE("a free dimension that meets a number becomes the number", "[graph]") {
  Graph graph = Inferred(R"(graph g {
    dim N in 1..64 usual 8
    input a: f32[N, 4]
    input b: f32[5x4]
    y = Add(a, b) : f32[]
    return y
  })");
  CHECK(graph.shape_vars.empty());
  CHECK(StaticShape(graph.value(graph.inputs[0])) == Ints{5, 4});
}

TEST_CASE("formulas that meet are noted, and count as one extent afterwards", "[graph]") {
  Graph graph = Inferred(R"(graph g {
    dim N in 1..64 usual 8
    dim M in 1..64 usual 8
    input a: f32[N, 4]
    input b: f32[M, 4]
    two = Concat(a, a) {axis: 0} : f32[]
    three = Concat(b, b, b) {axis: 0} : f32[]
    x = Add(two, three) : f32[]
    y = Mul(three, x) : f32[]
    return y
  })");
  REQUIRE(graph.agreements.size() == 1);
  CHECK(graph.agreements[0].where == "node 'x' (Add): operands' dimensions 0");
  for (const Node& node : graph.nodes) {
    CHECK(SameShape(graph.value(node.outputs[0]).shape, graph.value(graph.outputs[0]).shape));
  }
  StatusOr<Graph> parsed = ParseGraph(Print(graph), graph);
  REQUIRE(parsed.status() == OkStatus());
  CHECK(Print(*parsed) == Print(graph));
}

TEST_CASE("an extent that meets itself halved and doubled stays that of its input", "[graph]") {
  // Networks of images join what they halved with what they had.
  Graph graph = Inferred(R"(graph g {
    dim H in 1..64 usual 8
    input x: f32[1, 1, H, 4]
    half = MaxPool(x) {ceil_mode: 1, kernel_shape: [2, 1], strides: [2, 1]} : f32[]
    whole = Concat(half, half) {axis: 2} : f32[]
    y = Add(whole, x) : f32[]
    return y
  })");
  REQUIRE(graph.agreements.size() == 1);
  CHECK(ShapeText(graph.value(graph.inputs[0]).shape) == "1x1xHx4");
  CHECK(ShapeText(graph.value(graph.outputs[0]).shape) == "1x1xHx4");
  CHECK(ShapeText({graph.agreements[0].a}) == "H");
}

TEST_CASE("extents that never agree are refused by the node", "[graph][error]") {
  Graph graph = ParsedGraph(R"(graph g {
    dim N in 1..64 usual 8
    input a: f32[N, 4]
    input b: f32[100x4]
    y = Add(a, b) : f32[]
    return y
  })");
  Status status = InferShapes(graph);
  CHECK(status.code() == absl::StatusCode::kInvalidArgument);
  CHECK(Message(status) == "node 'y' (Add): operands' dimensions 0 are N and 100");
}

TEST_CASE("extents that contradict once a dimension is settled are refused", "[graph][error]") {
  Graph graph = ParsedGraph(R"(graph g {
    dim N in 1..64 usual 8
    dim M in 1..64 usual 8
    input a: f32[N, 4]
    input b: f32[M, 4]
    input c: f32[5x4]
    two = Concat(a, a) {axis: 0} : f32[]
    three = Concat(b, b, b) {axis: 0} : f32[]
    x = Add(two, three) : f32[]
    n = Add(a, c) : f32[]
    m = Add(b, c) : f32[]
    return x, n, m
  })");
  Status status = InferShapes(graph);
  CHECK(status.code() == absl::StatusCode::kInvalidArgument);
  CHECK(Message(status) == "node 'x' (Add): operands' dimensions 0 are 10 and 15");
}

TEST_CASE("arithmetic on dimensions has elements, and no node when nothing reads them", "[graph]") {
  Constants constants = {{"one", I64({1}, {1})},
                         {"minus", I64({1}, {-1})},
                         {"ones", I64({3}, {1, 1, 1})},
                         {"last", I64({1}, {6})},
                         {"none", I64({3}, {-1, -1, -1})}};
  Graph graph = Inferred(R"(graph g {
    dim N in 1..64 usual 8
    dim S in 1..64 usual 8
    input x: f32[N, S, 12]
    input token: f32[1x1x6]
    constant one: i64[1]
    constant ones: i64[3]
    constant none: i64[3]
    constant last: i64[1]
    dims = Shape(x) {start: 0} : i64[3]
    s = Gather(dims, one) {axis: 0} : i64[1]
    twice = Add(s, s) : i64[1]
    n = Shape(x) {end: 1, start: 0} : i64[1]
    wanted = Concat(n, twice, last) {axis: 0} : i64[3]
    stays = Equal(wanted, none) : bool[3]
    target = Where(stays, ones, wanted) : i64[3]
    count = Size(x) : i64[]
    y = Identity(target) : i64[3]
    z = Identity(count) : i64[]
    return y, z
  })",
                         constants);
  auto text = [&](const std::string& name) {
    for (const Value& value : graph.values) {
      if (value.name == name && !value.elements.empty()) return ShapeText(value.elements);
    }
    return std::string("nothing");
  };
  CHECK(text("twice") == "(S * 2)");
  CHECK(text("target") == "Nx(S * 2)x6");
  CHECK(text("z") == "(N * S * 12)");
  REQUIRE(RemoveDead(graph) == OkStatus());
  CHECK(graph.nodes.size() > 2);  // the results are data
}

TEST_CASE("elements that turn out to be numbers are constants", "[graph]") {
  Graph graph = Inferred(R"(graph g {
    dim N in 1..64 usual 8
    input x: f32[N, 12]
    d = Shape(x) {end: 2, start: 1} : i64[1]
    y = Add(d, d) : i64[1]
    return y
  })");
  const Tensor* tensor = graph.ConstantOf(graph.outputs[0]);
  REQUIRE(tensor != nullptr);
  CHECK(ElementAsInt(*tensor, 0) == 24);
  CHECK(graph.nodes.empty());
}
