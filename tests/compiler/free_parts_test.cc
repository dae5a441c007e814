#include <catch2/catch.hpp>

#include "compiler/check/random_inputs.h"
#include "graph/passes/agreements.h"
#include "graph/passes/graph_pipeline.h"
#include "graph/variants/alias_parts.h"
#include "ir/graph/constants.h"
#include "runtime/executor/executor.h"
#include "tests/compiler/random_parts.h"
#include "tests/compiler/run_compiled.h"
#include "tests/ir/parsed_graph.h"

namespace tcc {
namespace {

using Names = std::vector<std::string>;
using Sizes = std::vector<int64_t>;
using Constants = std::vector<std::pair<std::string, Tensor>>;

Graph Bound(Graph graph, const Sizes& sizes) {
  Substitution values;
  for (size_t i = 0; i < sizes.size(); ++i) values[graph.shape_vars[i]] = Expr(sizes[i]);
  SubstituteDims(graph, values);
  return graph;
}

// Returns the names of the values that lie in others once the passes have run.
Names PartsOf(Graph graph, int64_t alignment = 1) {
  REQUIRE(RunGraphPasses(graph) == OkStatus());
  std::vector<Subgraph> subgraphs = FuseGraph(graph);
  Names names;
  for (const auto& [id, part] : AliasParts(graph, subgraphs, alignment)) {
    names.push_back(graph.value(id).name);
  }
  std::ranges::sort(names);
  return names;
}

void CheckClose(const Tensor& got, const Tensor& expected) {
  REQUIRE(got.shape == expected.shape);
  for (int64_t i = 0; i < ElementCount(got.shape).value(); ++i) {
    double want = ElementAsDouble(expected, i);
    CHECK(ElementAsDouble(got, i) == Approx(want).margin(1e-5));
  }
}

// Runs one artefact of the graph at each of these sizes of its dimensions, on both targets, against
// the interpreter. Returns the names of the values that lie in others.
Names CheckParts(const Graph& graph, const std::vector<Sizes>& all) {
  INFO(Print(graph));
  for (const char* target : {"native", "reference"}) {
    Module module = Loaded(Compiled(graph, target));
    INFO(target << ToString(module.artefact().plan));
    Executor executor(module);
    for (const Sizes& sizes : all) {
      std::vector<Tensor> inputs = *RandomInputs(module.metadata(), 3, sizes);
      StatusOr<std::vector<Tensor>> outputs = executor.Run(inputs);
      INFO(outputs.status());
      REQUIRE(outputs.ok());
      std::vector<Tensor> expected = Expected(Bound(graph, sizes), inputs);
      REQUIRE(outputs->size() == expected.size());
      for (size_t i = 0; i < expected.size(); ++i) CheckClose((*outputs)[i], expected[i]);
    }
  }
  return PartsOf(graph);
}

Names CheckParts(const std::string& text, const std::vector<Sizes>& all,
                 const Constants& constants = {}) {
  return CheckParts(ParsedGraph("graph parts {\n" + text + "}", constants), all);
}

TEST_CASE("a dense block of a free batch joins its channels without copies",
          "[compiler][parts][free]") {
  Names parts = CheckParts(R"(
  dim N in 1..32 usual 4
  dim H in 1..16 usual 6
  input x: f32[N, 3, H, 5]
  constant w0: f32[4x3x1x1]
  constant w1: f32[4x4x1x1]
  constant w2: f32[4x8x1x1]
  f0 = Conv(x, w0) : f32[]
  f1 = Conv(f0, w1) : f32[]
  c1 = Concat(f0, f1) {axis: 1} : f32[]
  f2 = Conv(c1, w2) : f32[]
  c2 = Concat(f0, f1, f2) {axis: 1} : f32[]
  y = Tanh(c2) : f32[]
  return y
)",
                           {{4, 6}, {1, 1}, {3, 7}, {7, 2}},
                           {{"w0", Weights({4, 3, 1, 1})},
                            {"w1", Weights({4, 4, 1, 1})},
                            {"w2", Weights({4, 8, 1, 1})}});
  CHECK(parts == Names{"c1", "f0", "f1", "f2"});
}

TEST_CASE("a free past and a free present are computed side by side", "[compiler][parts][free]") {
  Names parts = CheckParts(R"(
  dim B in 1..8 usual 2
  dim P in 0..64 usual 16
  dim S in 1..64 usual 8
  input past: f32[B, 2, P, 4]
  input x: f32[B, 2, S, 4]
  old = Tanh(past) : f32[]
  own = Exp(x) : f32[]
  keys = Concat(old, own) {axis: 2} : f32[]
  sums = Softmax(keys) {axis: 2} : f32[]
  return keys, sums
)",
                           {{2, 16, 8}, {1, 3, 1}, {3, 1, 5}, {2, 0, 3}});
  CHECK(parts == Names{"old", "own"});
}

TEST_CASE("parts of a free length are read where they lie", "[compiler][parts][free]") {
  std::string text = R"(
  dim N in 1..8 usual 4
  dim T in 2..64 usual 16
  input x: f32[N, T, 12]
  constant one: i64[1]
  constant zero: i64[1]
  constant end: i64[1]
  constant axis: i64[1]
  sizes last: i64[1] = [T - 1]
  all = Tanh(x) : f32[]
  q, k, v = Split(all) {axis: 2, num_outputs: 3} : f32[], f32[], f32[]
  later = Slice(all, one, end, axis) : f32[]
  earlier = Slice(all, zero, last, axis) : f32[]
  difference = Sub(later, earlier) : f32[]
  sums = Softmax(q) {axis: 1} : f32[]
  products = Mul(k, v) : f32[]
  return difference, sums, products
)";
  Constants constants = {
      {"one", Ints({1})}, {"zero", Ints({0})}, {"end", Ints({INT64_MAX})}, {"axis", Ints({1})}};
  Names parts = CheckParts(text, {{4, 16}, {1, 2}, {3, 7}}, constants);
  Graph graph = ParsedGraph("graph parts {\n" + text + "}", constants);
  CHECK(parts == PartsOf(Bound(graph, {3, 7})));
  CHECK(std::ranges::count(parts, "q") == 1);
}

TEST_CASE("a part begins where buffers may at all sizes", "[compiler][parts][free]") {
  auto parts_of = [](int columns) {
    Graph graph = ParsedGraph(fmt::format(R"(graph parts {{
  dim N in 1..8 usual 4
  dim M in 1..8 usual 4
  input x: f32[N, {0}]
  input y: f32[M, {0}]
  a = Tanh(x) : f32[]
  b = Exp(y) : f32[]
  both = Concat(a, b) {{axis: 0}} : f32[]
  z = Neg(both) : f32[]
  return z
}})",
                                          columns));
    return PartsOf(graph, 16);
  };
  CHECK(parts_of(4) == Names{"a", "b"});
  CHECK(parts_of(3) == Names{"a"});
}

TEST_CASE("random parts of a free batch compute what the interpreter does",
          "[compiler][parts][free]") {
  Random random(12);
  size_t parts = 0;
  for (int round = 0; round < 24; ++round) {
    INFO("round " << round);
    PartNodes nodes = round % 3 == 0 ? PartNodes::kPlain : PartNodes::kConvolutions;
    RandomParts made = MakeRandomParts(random, "N", nodes);
    std::string text = "graph parts {\n  dim N in 1..8 usual 2\n";
    for (const auto& [name, tensor] : made.given) {
      text += fmt::format("  constant {}: {}\n", name, ToString(tensor));
    }
    Graph graph = ParsedGraph(text + made.text + "}", made.given);
    Names names = CheckParts(graph, {{2}, {1}, {5}});
    CHECK(names == PartsOf(Bound(graph, {2})));
    parts += names.size();
  }
  CHECK(parts > 24);
}

}  // namespace
}  // namespace tcc
