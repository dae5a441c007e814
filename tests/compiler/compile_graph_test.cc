#include "compiler/compile_graph.h"
#include "compiler/kernels.h"

#include <catch2/catch.hpp>

#include "compiler/check/compare_tensors.h"
#include "compiler/check/random_inputs.h"
#include "compiler/devices/reference_device.h"
#include "graph/passes/infer_shapes.h"
#include "graph/variants/interpret_graph.h"
#include "models/zoo/zoo.h"
#include "runtime/executor/executor.h"
#include "tests/compiler/random_graph.h"
#include "tests/compiler/run_compiled.h"

namespace tcc {
namespace {

TEST_CASE("random graphs compute what the interpreter does", "[compiler]") {
  Random random(29);
  for (int round = 0; round < 60; ++round) {
    Random own = random.Fork();
    Graph graph = RandomGraph(own, {.nodes = 3 + round % 10, .outputs = 1 + round % 4});
    INFO("round " << round << "\n" << Print(graph));
    for (const char* target : {"native", "reference"}) {
      INFO(target);
      Status difference = DifferenceOn(graph, target);
      INFO(difference);
      REQUIRE(difference.ok());
    }
  }
}

TEST_CASE("an artefact has the same bytes for any number of compiler threads", "[compiler]") {
  Graph graph = *BuildZoo("mobilenet_v2", {.small = true});
  for (const char* target : {"native", "x86-64-v4", "reference"}) {
    INFO(target);
    std::vector<uint8_t> one = ArtefactBytes(Compiled(graph, target, 1));
    CHECK(one == ArtefactBytes(Compiled(graph, target, 3)));
  }
}

TEST_CASE("an artefact written and read back runs", "[compiler]") {
  Graph graph = *BuildZoo("dqn", {.small = true});
  for (const char* target : {"native", "reference"}) {
    INFO(target);
    StatusOr<Artefact> parsed = ParseArtefact(OwnBytes(ArtefactBytes(Compiled(graph, target))));
    REQUIRE(parsed.ok());
    Module module = Loaded(std::move(*parsed));
    std::vector<Tensor> inputs = *RandomInputs(module.metadata(), 1);
    StatusOr<std::vector<Tensor>> got = Executor(module).Run(inputs);
    REQUIRE(got.ok());
    std::vector<Tensor> expected = Expected(graph, inputs);
    CHECK(Compare((*got)[0], expected[0], {.rtol = 1e-4, .atol = 1e-5}).different == 0);
  }
}

TEST_CASE("the bare runtime refuses an artefact of the interpreter", "[compiler]") {
  Artefact artefact = Compiled(*BuildZoo("dqn", {.small = true}), "reference");
  Status status = Module::FromArtefact(std::move(artefact)).status();
  CHECK(status.code() == absl::StatusCode::kUnavailable);
  CHECK(Message(status).find("reference") != std::string::npos);
}

TEST_CASE("kernels get the sketches that the caller's rules make", "[compiler]") {
  Graph graph = *BuildZoo("dqn", {.small = true});
  Target target = *FindTarget("native");
  // Of ours, the rules that take one block at a time.
  std::vector<SketchRule> rules;
  for (const SketchRule& rule : SketchRules(target)) {
    if (rule.name == "map" || rule.name == "outer") rules.push_back(rule);
  }
  REQUIRE(rules.size() == 2);
  StatusOr<KernelSet> kernels = KernelsOf(graph, {.target = target, .sketch_rules = rules});
  REQUIRE(kernels.ok());
  Schedules schedules;
  for (const KernelStages& kernel : kernels->kernels) {
    INFO(kernel.symbol << ": " << kernel.sketch);
    CHECK((kernel.sketch.starts_with("map") || kernel.sketch.starts_with("outer")));
    CHECK(kernel.schedule.decisions.size() == kernel.schedule.trace.sizes.size());
    schedules[kernel.symbol] = kernel.schedule;
  }
  // The notes tell the two apart.
  StatusOr<Artefact> by_rules =
      CompileGraph(graph, {.target = target, .sketch_rules = rules, .notes = false});
  StatusOr<Artefact> by_schedules =
      CompileGraph(graph, {.target = target, .schedules = schedules, .notes = false});
  REQUIRE((by_rules.ok() && by_schedules.ok()));
  CHECK(ArtefactBytes(*by_rules) == ArtefactBytes(*by_schedules));
  CHECK_FALSE(std::ranges::equal(by_rules->kernels.bytes, Compiled(graph, "native").kernels.bytes));
}

TEST_CASE("a kernel's schedule names the variant that it is for", "[compiler]") {
  Graph graph = *BuildZoo("bert_base", {.small = true});
  StatusOr<KernelSet> kernels = KernelsOf(graph, {.target = *FindTarget("x86-64-v4")});
  REQUIRE(kernels.ok());
  int others = 0;
  for (const KernelStages& kernel : kernels->kernels) {
    INFO(kernel.symbol);
    CHECK(Replay(kernel.variants[kernel.schedule.variant], kernel.schedule.trace,
                 kernel.schedule.decisions)
              .ok());
    others += kernel.schedule.variant != 0;
  }
  CHECK(others > 0);  // attention in its flash form
}

TEST_CASE("outputs keep their names, whatever they turn out to be", "[compiler]") {
  Graph graph;
  Value value;
  value.dtype = kFloat32;
  value.shape = ToExprs({2});
  for (const char* name : {"x", "y", "z"}) {
    value.name = name;
    graph.AddValue(value);
  }
  graph.inputs = {0};
  for (int i = 1; i <= 2; ++i) {
    Node node;
    node.op = OpKind::kIdentity;
    node.name = "n" + std::to_string(i);
    node.inputs = {0};
    node.outputs = {i};
    graph.nodes.push_back(node);
  }
  graph.outputs = {1, 2, 2, 0};
  Artefact artefact = Compiled(graph, "native");
  std::vector<std::string> names;
  for (const TensorInfo& info : artefact.metadata.outputs) names.push_back(info.name);
  CHECK(names == std::vector<std::string>{"y", "z", "z_1", "x"});
  CHECK(DifferenceOn(graph, "native").ok());
}

}  // namespace
}  // namespace tcc
