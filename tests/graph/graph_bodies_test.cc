#include <catch2/catch.hpp>

#include "graph/passes/control_flow.h"
#include "graph/passes/fuse_graph.h"
#include "graph/passes/graph_pipeline.h"
#include "graph/passes/infer_shapes.h"
#include "graph/passes/passes.h"
#include "tests/ir/parsed_graph.h"

// What graph passes and fusion make of nodes with bodies.
namespace tcc {
namespace {

Tensor Ints(const std::vector<int64_t>& values) {
  return MakeTensor(
      kInt64, {static_cast<int64_t>(values.size())},
      {reinterpret_cast<const uint8_t*>(values.data()), values.size() * sizeof(int64_t)});
}

Tensor True() {
  Tensor tensor = MakeZeroTensor(kBool, {});
  SetElementInt(tensor, 0, 1);
  return tensor;
}

Graph Inferred(const std::string& text, const std::vector<std::pair<std::string, Tensor>>& given) {
  Graph graph = ParsedGraph(text, given);
  Status status = InferShapes(graph);
  INFO(status);
  REQUIRE(status.ok());
  return graph;
}

// Carries a count, a sum, and what never changes; only the sum is asked for.
constexpr const char* kLoop = R"(graph loop {
  input x: f32[7x2]
  input start: f32[2]
  input scale: f32[2]
  count, sum, same, all = Loop(_, _, start, start, scale, x, scale) {carried: 3, scan_input_axes: [0], scan_output_axes: [0]} : f32[], f32[], f32[], f32[]
    body step {
      input i: i64[]
      input c: bool[]
      input count: f32[]
      input sum: f32[]
      input same: f32[]
      input row: f32[]
      input scale: f32[]
      constant yes: bool[]
      n = Add(count, scale) : f32[]
      product = Mul(row, same) : f32[]
      s = Add(sum, product) : f32[]
      alike = Identity(same) : f32[]
      return yes, n, s, alike, n
    }
  return sum
}
)";

TEST_CASE("a carried value that stays as it is becomes a captured one", "[graph][bodies]") {
  Graph graph = Inferred(kLoop, {{"yes", True()}});
  const Node& loop = graph.nodes[0];
  CHECK(PartsOf(loop).carried == 2);
  CHECK(loop.inputs.size() == 7);
  CHECK(VerifyGraph(graph).ok());
  CHECK(StaticShape(graph.value(loop.outputs[2])) == std::vector<int64_t>{7, 2});
}

TEST_CASE("results that nobody reads go, with what only they need", "[graph][bodies]") {
  Graph graph = Inferred(kLoop, {{"yes", True()}});
  REQUIRE(RemoveDead(graph).ok());
  REQUIRE(graph.nodes.size() == 1);
  const Node& loop = graph.nodes[0];
  CHECK(PartsOf(loop).scan_outputs == 0);
  CHECK(loop.bodies[0].outputs.size() == loop.outputs.size() + 1);
  CHECK(VerifyGraph(graph).ok());
}

TEST_CASE("constants outside a body become constants inside", "[graph][bodies]") {
  std::string text = R"(graph sink {
  input c: bool[]
  input x: f32[2]
  constant shape: i64[1]
  y = If(c, x, shape) : f32[]
    body then {
      input x: f32[]
      input shape: i64[]
      flat = Reshape(x, shape) {allowzero: 0} : f32[]
      return flat
    }
    body else {
      input x: f32[]
      input shape: i64[]
      z = Neg(x) : f32[]
      return z
    }
  return y
}
)";
  Graph graph = Inferred(text, {{"shape", Ints({2})}});
  REQUIRE(graph.nodes.size() == 1);
  CHECK(graph.nodes[0].inputs.size() == 2);
  CHECK(graph.nodes[0].bodies[0].inputs.size() == 1);
  CHECK(VerifyGraph(graph).ok());
}

TEST_CASE("all bodies fold constants within one budget", "[graph][bodies]") {
  std::string text = "graph bombs {\n  input c: bool[]\n";
  for (int i = 0; i < 4; ++i) {
    text += fmt::format(R"(  y{} = If(c) : f64[]
    body then {{
      constant shape: i64[1]
      ones = ConstantOfShape(shape) {{value: f64[1](1.0)}} : f64[]
      return ones
    }}
    body else {{
      constant shape: i64[1]
      twos = ConstantOfShape(shape) {{value: f64[1](2.0)}} : f64[]
      return twos
    }}
)",
                        i);
  }
  text += "  return y0, y1, y2, y3\n}\n";
  // 24 MiB each.
  Graph graph = Inferred(text, {{"shape", Ints({3 << 20})}});
  REQUIRE(SimplifyToFixedPoint(graph).ok());
  size_t bytes = 0;
  for (const Node& node : graph.nodes) {
    for (const Graph& body : node.bodies) {
      for (const Value& value : body.values) {
        if (value.constant) bytes += value.constant->bytes.size();
      }
    }
  }
  CHECK(bytes > 0);
  CHECK(bytes <= static_cast<size_t>(kFoldedBytes) + 1024);
}

TEST_CASE("slices and scalar functions that are read once are computed where they are read",
          "[graph][bodies][fusion]") {
  std::string text = R"(graph gates {
  input g: f32[2x12]
  input c: f32[2x4]
  constant zero: i64[1]
  constant four: i64[1]
  constant eight: i64[1]
  constant twelve: i64[1]
  constant one: i64[1]
  a = Slice(g, zero, four, one) : f32[]
  b = Slice(g, four, eight, one) : f32[]
  d = Slice(g, eight, twelve, one) : f32[]
  in = Sigmoid(a) : f32[]
  forget = Sigmoid(b) : f32[]
  new = Tanh(d) : f32[]
  kept = Mul(forget, c) : f32[]
  added = Mul(in, new) : f32[]
  cell = Add(kept, added) : f32[]
  return cell
}
)";
  Graph graph = Inferred(text, {{"zero", Ints({0})},
                                {"four", Ints({4})},
                                {"eight", Ints({8})},
                                {"twelve", Ints({12})},
                                {"one", Ints({1})}});
  std::vector<Subgraph> subgraphs = FuseGraph(graph);
  REQUIRE(subgraphs.size() == 1);
  CHECK(subgraphs[0].nodes.size() == 9);
}

}  // namespace
}  // namespace tcc
