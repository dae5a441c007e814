#include "compiler/compile_kernels.h"

#include <catch2/catch.hpp>

#include <functional>

#include "graph/passes/infer_shapes.h"
#include "schedule/sketches/schedule_choice.h"
#include "tests/ir/parsed_graph.h"

namespace tcc {
namespace {

// A code generator that makes no code and gives a verdict of each function that it gets.
class JudgingBackend final : public Backend {
 public:
  explicit JudgingBackend(std::function<CompiledKernel(int call)> judge)
      : judge_(std::move(judge)) {}

  StatusOr<CompiledModule> Compile(const LoweredModule& module, const BackendOptions&) override {
    CompiledModule compiled;
    compiled.kernels.assign(module.kernels.size(), judge_(calls++));
    return compiled;
  }
  StatusOr<std::string> Emit(const LoweredModule&, const std::string&) override { return ""; }

  int calls = 0;

 private:
  std::function<CompiledKernel(int call)> judge_;
};

CompiledKernel Spilling() {
  return {.fault = "spills 8 bytes with 255 registers", .fault_cost = 8};
}

Graph SumsOfRows() {
  Graph graph = ParsedGraph(R"(graph sums {
  input x: f32[64x96]
  input w: f32[96x32]
  y = MatMul(x, w) : f32[]
  return y
})");
  REQUIRE(InferShapes(graph).ok());
  return graph;
}

struct Compilation {
  CompileOptions options;
  std::vector<std::string> warnings;
  KernelSet kernels;

  // Makes the one kernel of the graph.
  void Make() {
    options.target = *FindTarget("sm_80");
    options.warn = [this](const std::string& message) { warnings.push_back(message); };
    StatusOr<KernelSet> made = KernelsOf(SumsOfRows(), options);
    INFO(made.status());
    REQUIRE(made.ok());
    REQUIRE(made->kernels.size() == 1);
    kernels = *std::move(made);
  }

  KernelStages& kernel() { return kernels.kernels[0]; }

  Status Compile(Backend& backend) { return CompileKernels(kernels, options, backend).status(); }
};

// Makes the kernel by a schedule from the database: the plainest one, which is not the default.
void MakeTuned(Compilation& compilation) {
  compilation.Make();
  Workload workload = WorkloadOf(compilation.kernel());
  const Target& target = compilation.options.target;
  Sketch plain = OtherSchedules(workload.variants[0], target, SketchRules(target)).back();
  compilation.options.tuned[workload.key] = {
      .variant_key = workload.key,
      .rules = "plain",
      .schedule = {.trace = plain.trace, .decisions = plain.start},
      .seconds = 1e-5};
  compilation.Make();
  REQUIRE(compilation.kernel().tuned);
}

TEST_CASE("a tuned schedule whose code spills a little is kept, with a warning", "[compiler]") {
  Compilation compilation;
  MakeTuned(compilation);
  std::string before = Print(compilation.kernel().schedule.trace);
  JudgingBackend backend([](int) { return Spilling(); });
  REQUIRE(compilation.Compile(backend).ok());
  CHECK(backend.calls == 1);
  CHECK(compilation.kernel().tuned);
  CHECK(Print(compilation.kernel().schedule.trace) == before);
  CHECK(compilation.warnings ==
        std::vector<std::string>{"kernel '" + compilation.kernel().symbol +
                                 "' spills 8 bytes with 255 registers; it is kept since its "
                                 "schedule was measured"});
}

TEST_CASE("a tuned schedule that the code generator refuses gives way to the default",
          "[compiler]") {
  Compilation compilation;
  MakeTuned(compilation);
  JudgingBackend backend([](int call) {
    return call == 0 ? CompiledKernel{.refused = InvalidInput("it has no launch")}
                     : CompiledKernel{};
  });
  REQUIRE(compilation.Compile(backend).ok());
  CHECK(backend.calls == 2);
  CHECK_FALSE(compilation.kernel().tuned);
  CHECK(compilation.kernel().choice == 0);
}

TEST_CASE("a given schedule whose code spills is kept as given", "[compiler]") {
  Compilation compilation;
  compilation.Make();
  compilation.options.schedules[compilation.kernel().symbol] = compilation.kernel().schedule;
  compilation.Make();
  JudgingBackend backend([](int) { return Spilling(); });
  REQUIRE(compilation.Compile(backend).ok());
  CHECK(backend.calls == 1);
  REQUIRE(compilation.warnings.size() == 1);
  CHECK(compilation.warnings[0].ends_with("it is kept since its schedule was given"));
}

TEST_CASE("a default schedule whose code spills gives way to one that does not", "[compiler]") {
  Compilation compilation;
  compilation.Make();
  JudgingBackend backend([](int call) { return call == 0 ? Spilling() : CompiledKernel{}; });
  REQUIRE(compilation.Compile(backend).ok());
  CHECK(backend.calls == 2);
  CHECK(compilation.kernel().choice > 0);
  CHECK(compilation.warnings.empty());
}

}  // namespace
}  // namespace tcc
