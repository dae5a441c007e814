#include "schedule/sketches/schedule_choice.h"
#include "schedule/steps/loop_kind.h"
#include "schedule/steps/split.h"

#include <catch2/catch.hpp>

#include "compiler/kernels.h"
#include "graph/passes/infer_shapes.h"
#include "ir/graph/graph_bodies.h"
#include "ir/simplify/simplify.h"
#include "schedule/space/limits.h"
#include "schedule/space/resources.h"

namespace tcc {
namespace {

Graph ProductGraph() {
  StatusOr<Graph> graph = ParseGraph(R"(graph product {
  input a: f32[512x512]
  input b: f32[512x512]
  c = MatMul(a, b) : f32[]
  return c
})",
                                     {});
  REQUIRE(graph.ok());
  REQUIRE(InferShapes(*graph).ok());
  return *graph;
}

Function MatrixProduct() {
  CompileOptions options;
  options.target = *FindTarget("reference");
  StatusOr<KernelSet> kernels = KernelsOf(ProductGraph(), options);
  INFO(kernels.status());
  REQUIRE(kernels.ok());
  return kernels->kernels[0].tensor;
}

int64_t RegistersOf(const Function& fn, const Sketch& sketch, const Target& target) {
  StatusOr<Function> scheduled = Replay(fn, sketch.trace, sketch.start);
  INFO(scheduled.status());
  REQUIRE(scheduled.ok());
  int64_t most = 0;
  for (const NestResources& nest : ResourcesOf(*scheduled, target))
    most = std::max(most, AsConstant(Simplify(nest.registers)).value_or(0));
  return most;
}

TEST_CASE("a GPU kernel falls back to fewer registers, then to plainer sketches",
          "[compiler][gpu]") {
  Function fn = MatrixProduct();
  Target target = *FindTarget("sm_86");
  Sketch first = FirstSketch(fn, target);
  std::vector<Sketch> others = OtherSchedules(fn, target, SketchRules(target));
  REQUIRE(others.size() >= 2);
  // The same steps at a smaller point.
  CHECK(others[0].name == first.name);
  CHECK(Print(others[0].trace) == Print(first.trace));
  CHECK(RegistersOf(fn, others[0], target) < RegistersOf(fn, first, target));
  CHECK(others.back().name == "thread");
  for (const Sketch& sketch : others) CHECK(RegistersOf(fn, sketch, target) > 0);
}

// Unrolls all columns of `step` rows.
std::vector<SketchState> Unrolled(const SketchState& state, const Block& block, Expr step) {
  SketchState next = state;
  const std::string rows = block.name + "/" + block.iters[0].var->name;
  const std::string columns = block.name + "/" + block.iters[1].var->name;
  if (!step) step = next.Size(rows + ".1", 512, {}, 512);
  next.Do(Split{rows, {step}});
  next.Do(Unroll{rows + ".1"});
  next.Do(Unroll{columns});
  return {next};
}
std::vector<SketchState> Greedy(const SketchState& state, const Block& block, const Target&) {
  return Unrolled(state, block, {});
}
std::vector<SketchState> Hopeless(const SketchState& state, const Block& block, const Target&) {
  return Unrolled(state, block, Expr(512));
}
std::vector<SketchState> HopelessOrNot(const SketchState& state, const Block& block,
                                       const Target&) {
  return {Unrolled(state, block, Expr(512))[0], Unrolled(state, block, Expr(1))[0]};
}
std::vector<SketchState> Plain(const SketchState& state, const Block&, const Target&) {
  return {state};
}

TEST_CASE("a default schedule that a CPU refuses gives way to smaller sizes, then plainer sketches",
          "[compiler]") {
  struct Case {
    SketchRule rule;
    std::string sketch;
  };
  const Case cases[] = {{{"greedy", Greedy, ""}, "greedy"},
                        {{"hopeless", Hopeless, ""}, "plain"},
                        {{"hopeless or not", HopelessOrNot, ""}, "hopeless or not"}};
  for (const Case& c : cases) {
    INFO(c.rule.name);
    CompileOptions options;
    options.target = *FindTarget("x86-64-v3");
    options.sketch_rules = {c.rule, {"plain", Plain, ""}};
    StatusOr<KernelSet> kernels = KernelsOf(ProductGraph(), options);
    INFO(kernels.status());
    REQUIRE(kernels.ok());
    const KernelStages& kernel = kernels->kernels[0];
    CHECK(kernel.sketch == c.sketch);
    int64_t statements = 0;
    for (const NestResources& nest : ResourcesOf(kernel.scheduled, options.target))
      statements = std::max(statements, AsConstant(Simplify(nest.statements)).value_or(0));
    CHECK(statements <= kMaxStatements);
  }
}

TEST_CASE("a CPU's other schedules start within its limits and end with the plainest",
          "[compiler]") {
  Target target = *FindTarget("x86-64-v3");
  Function fn = MatrixProduct();
  std::vector<Sketch> others = OtherSchedules(fn, target, SketchRules(target));
  REQUIRE(others.size() >= 3);
  CHECK(Print(others[0].trace) == Print(FirstSketch(fn, target).trace));
  CHECK(others.back().name == "outer");
  for (const Sketch& sketch : others) CHECK(Replay(fn, sketch.trace, sketch.start).ok());
}

}  // namespace
}  // namespace tcc
