#include "graph/passes/infer_shapes.h"

#include <catch2/catch.hpp>

#include "ir/text/printer.h"
#include "tests/graph/one_node.h"

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
