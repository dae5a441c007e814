#include "api/schedule_choice.h"

#include <catch2/catch.hpp>

#include "api/kernels.h"
#include "ir/graph_bodies.h"
#include "ir/simplify.h"
#include "lower/graph/infer_shapes.h"
#include "schedule/resources.h"

namespace tcc {
namespace {

Function MatrixProduct() {
  StatusOr<Graph> graph = ParseGraph(R"(graph product {
  input a: f32[512x512]
  input b: f32[512x512]
  c = MatMul(a, b) : f32[]
  return c
})",
                                     {});
  REQUIRE(graph.ok());
  REQUIRE(InferShapes(*graph).ok());
  KernelOptions options;
  options.target = *FindTarget("reference");
  StatusOr<KernelSet> kernels = KernelsOf(*graph, options);
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

TEST_CASE("a GPU kernel falls back to fewer registers, then to plainer sketches", "[api][gpu]") {
  Function fn = MatrixProduct();
  Target target = *FindTarget("sm_86");
  Sketch first = FirstSketch(fn, target);
  std::vector<Sketch> others = OtherSchedules(fn, target, SketchRules(target));
  REQUIRE(others.size() >= 2);
  // The same steps at a smaller point.
  CHECK(others[0].name == first.name);
  CHECK(others[0].trace == first.trace);
  CHECK(RegistersOf(fn, others[0], target) < RegistersOf(fn, first, target));
  CHECK(others.back().name == "thread");
  for (const Sketch& sketch : others) CHECK(RegistersOf(fn, sketch, target) > 0);
}

TEST_CASE("a CPU kernel has one schedule", "[api]") {
  Target target = *FindTarget("native");
  CHECK(OtherSchedules(MatrixProduct(), target, SketchRules(target)).empty());
}

}  // namespace
}  // namespace tcc
