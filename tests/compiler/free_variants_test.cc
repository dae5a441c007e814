// Variants that a kernel with a free batch goes by, on a CPU.

#include <algorithm>
#include <catch2/catch.hpp>

#include "compiler/check/compare_tensors.h"
#include "compiler/check/random_inputs.h"
#include "compiler/kernels.h"
#include "graph/passes/graph_pipeline.h"
#include "graph/variants/variants.h"
#include "ir/expr/evaluate.h"
#include "ir/text/printer.h"
#include "runtime/executor/executor.h"
#include "support/random.h"
#include "tests/compiler/run_compiled.h"
#include "tests/ir/parsed_graph.h"

namespace tcc {
namespace {

using Sizes = std::vector<int64_t>;

struct Case {
  const char* what;
  const char* items;
  Sizes weight;
  const char* part;  // of the chosen variant's text
  const char* sketch;
  std::vector<Sizes> sizes;
};

const Case kCases[] = {
    {"rows of batches",
     R"(dim N in 1..64 usual 8
        dim S in 1..64 usual 13
        input x: f32[N, S, 40]
        constant w: f32[40, 48]
        y = MatMul(x, w) : f32[])",
     {40, 48},
     "spatial n0 * n1",
     "tile",
     {{8, 13}, {1, 1}, {3, 7}}},
    {"convolutions of one tap",
     R"(dim N in 1..64 usual 8
        dim S in 1..64 usual 9
        input x: f32[N, 40, S, 7]
        constant w: f32[48, 40, 1, 1]
        y = Conv(x, w) : f32[])",
     {48, 40, 1, 1},
     "spatial n0 * n1 * 7",
     "tile",
     {{8, 9}, {1, 1}, {3, 5}}},
    {"convolutions by transforms of 4x4 tiles",
     R"(dim N in 1..64 usual 8
        input x: f32[N, 32, 15, 14]
        constant w: f32[32, 32, 3, 3]
        y = Conv(x, w) {pads: [1, 1, 1, 1]} : f32[])",
     {32, 32, 3, 3},
     "y_u: f32[6, 6",
     "tile, transformed",
     {{8}, {1}, {3}}},
    {"transforms of any image",
     R"(dim N in 1..64 usual 3
        dim H in 1..64 usual 20
        dim W in 1..64 usual 24
        input x: f32[N, 32, H, W]
        constant w: f32[32, 32, 3, 3]
        y = Conv(x, w) {pads: [1, 1, 1, 1]} : f32[])",
     {32, 32, 3, 3},
     "y_u: f32[6, 6",
     "tile, transformed",
     {{3, 20, 24}, {1, 1, 1}, {2, 7, 13}}},
};

Tensor RandomWeight(const Sizes& shape) {
  Tensor weight = MakeZeroTensor(kFloat32, shape);
  Random random(3);
  for (int64_t i = 0; i < ElementCount(shape).value(); ++i) {
    SetElement(weight, i, random.Normal() / 8);
  }
  return weight;
}

Graph GraphOf(const Case& c) {
  std::string text = std::string("graph g {\n") + c.items + "\nreturn y }";
  return ParsedGraph(text, {{"w", RandomWeight(c.weight)}});
}

// The only kernel that adds up products.
KernelStages ProductOf(const Graph& graph) {
  CompileOptions options;
  options.target = FindTarget("x86-64-v3").value();
  options.verify = true;
  StatusOr<KernelSet> set = KernelsOf(graph, options);
  INFO(set.status());
  REQUIRE(set.ok());
  auto found = std::ranges::find_if(set->kernels, [](const auto& k) { return k.flops > 0; });
  REQUIRE(found != set->kernels.end());
  return *found;
}

// The graph with numbers for its dimensions.
Graph Bound(Graph graph, const Sizes& sizes) {
  Assignment values;
  for (size_t i = 0; i < sizes.size(); ++i) values[graph.shape_vars[i]] = sizes[i];
  for (Value& value : graph.values) {
    for (Expr& extent : value.shape) extent = EvaluateInt(extent, values).value();
  }
  graph.shape_vars.clear();
  return graph;
}

}  // namespace

TEST_CASE("variants are chosen for a free batch, with the schedules of the usual one",
          "[compiler][variants][free]") {
  for (const Case& c : kCases) {
    const KernelStages kernel = ProductOf(GraphOf(c));
    INFO(c.what << "\n" << Print(kernel.tensor));
    CHECK(Print(kernel.tensor).find(c.part) != std::string::npos);
    CHECK(kernel.misfit == "");
    CHECK(kernel.sketch == c.sketch);
  }
}

TEST_CASE("variants of a free batch compute what is right at any size",
          "[compiler][variants][free]") {
  for (const Case& c : kCases) {
    INFO(c.what);
    const Graph graph = GraphOf(c);
    Executor executor(Loaded(Compiled(graph, "native")));
    const Metadata& metadata = executor.module().metadata();
    for (const Sizes& sizes : c.sizes) {
      std::vector<Tensor> inputs = *RandomInputs(metadata, 3, sizes);
      StatusOr<std::vector<Tensor>> outputs = executor.Run(inputs);
      INFO(outputs.status());
      REQUIRE(outputs.ok());
      const std::vector<Tensor> expected = Expected(Bound(graph, sizes), inputs);
      CHECK(CompareOutputs(*outputs, expected, {"y"}, {.rtol = 1e-4, .atol = 1e-4}) == OkStatus());
    }
  }
}

}  // namespace tcc
