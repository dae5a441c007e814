#include <algorithm>
#include <catch2/catch.hpp>
#include <cmath>

#include "graph/passes/graph_pipeline.h"
#include "graph/passes/infer_shapes.h"
#include "graph/variants/interpret_graph.h"
#include "graph/variants/task.h"
#include "ir/analysis/verifier.h"
#include "ir/expr/compare.h"
#include "ir/text/parser.h"
#include "ir/text/printer.h"
#include "models/zoo/zoo.h"
#include "tests/graph/one_node.h"

using namespace tcc;

namespace {

Graph Zoo(const std::string& name, bool small) {
  StatusOr<Graph> graph = BuildZoo(name, {.small = small});
  REQUIRE(graph.ok());
  return *graph;
}

int CountOf(const Graph& graph, OpKind op) {
  return static_cast<int>(
      std::ranges::count_if(graph.nodes, [&](const Node& node) { return node.op == op; }));
}

std::vector<double> RunOn(const Graph& graph, const Tensor& input) {
  StatusOr<std::vector<Tensor>> results = InterpretGraph(graph, {input});
  INFO(Message(results.status()));
  REQUIRE(results.ok());
  return ValuesOf((*results)[0]);
}

}  // namespace

TEST_CASE("the networks repack nothing but their input", "[graph][layout]") {
  for (const char* name : {"dqn", "resnet18", "resnet50", "mobilenet_v2"}) {
    INFO(name);
    Graph graph = Zoo(name, /*small=*/false);
    Status status = RunGraphPasses(graph);
    INFO(Message(status));
    REQUIRE(status.ok());
    CHECK(VerifyGraph(graph).ok());
    CHECK(CountOf(graph, OpKind::kRepack) == 1);
    CHECK(CountOf(graph, OpKind::kBatchNormalization) == 0);
  }
}

TEST_CASE("every task of the networks verifies, and its text parses back", "[graph][fusion]") {
  for (const char* name : {"dqn", "resnet18", "mobilenet_v2"}) {
    Graph graph = Zoo(name, /*small=*/false);
    REQUIRE(RunGraphPasses(graph).ok());
    for (const Subgraph& subgraph : FuseGraph(graph)) {
      if (subgraph.kind == SubgraphKind::kView) continue;
      INFO(name << ": " << subgraph.name);
      StatusOr<Task> task = BuildTask(graph, subgraph);
      REQUIRE(task.ok());
      const Function& fn = task->variants[0].fn;
      INFO(Print(fn));
      CHECK(Message(Verify(fn)) == "");
      CHECK(BlocksOf(fn.body).size() <= 2);
      StatusOr<Function> parsed = ParseFunction(Print(fn));
      INFO(Message(parsed.status()));
      REQUIRE(parsed.ok());
      CHECK(AlphaEqual(*parsed, fn));
    }
  }
}

TEST_CASE("resnet18 has one task a convolution", "[graph][fusion]") {
  Graph graph = Zoo("resnet18", /*small=*/false);
  REQUIRE(RunGraphPasses(graph).ok());
  std::vector<Subgraph> subgraphs = FuseGraph(graph);
  auto kernels = std::ranges::count_if(
      subgraphs, [](const Subgraph& subgraph) { return subgraph.kind == SubgraphKind::kKernel; });
  // 20 convolutions, the repack, the two pools and the matrix product.
  CHECK(kernels == 24);
}

TEST_CASE("the passes keep what small networks compute", "[graph]") {
  for (const char* name : {"dqn", "resnet18", "mobilenet_v2"}) {
    INFO(name);
    Graph plain = Zoo(name, /*small=*/true);
    Graph optimized = plain;
    REQUIRE(InferShapes(plain).ok());
    REQUIRE(RunGraphPasses(optimized).ok());
    Tensor input = RandomF32(*StaticShape(plain.value(plain.inputs[0])), 5);
    std::vector<double> expected = RunOn(plain, input);
    std::vector<double> got = RunOn(optimized, input);
    REQUIRE(got.size() == expected.size());
    double largest = 0;
    for (double value : expected) largest = std::max(largest, std::fabs(value));
    CHECK(largest > 0);
    for (size_t i = 0; i < got.size(); ++i) {
      CHECK(got[i] == Approx(expected[i]).margin(1e-4 * largest));
    }
  }
}
