#include "graph/passes/agreements.h"

#include <catch2/catch.hpp>

#include "graph/ops/node_lowering.h"
#include "graph/passes/infer_shapes.h"
#include "graph/passes/passes.h"
#include "tests/graph/one_node.h"
#include "tests/ir/parsed_graph.h"

using namespace tcc;

namespace {

using Constants = std::vector<std::pair<std::string, Tensor>>;

Graph Inferred(const std::string& text, const Constants& constants = {}) {
  Graph graph = ParsedGraph(text, constants);
  Status status = InferShapes(graph);
  REQUIRE(status == OkStatus());
  REQUIRE(VerifyGraph(graph) == OkStatus());
  return graph;
}

}  // namespace

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
