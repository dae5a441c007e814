#include <catch2/catch.hpp>

#include "autodiff_features/faster_start.h"
#include "codegen_cuda/nvrtc/nvrtc.h"
#include "codegen_cuda/text/cuda_source.h"
#include "compiler/check/compare_tensors.h"
#include "compiler/check/random_inputs.h"
#include "compiler/compile_graph.h"
#include "compiler/devices/emulated_device.h"
#include "compiler/kernels.h"
#include "graph/passes/infer_shapes.h"
#include "ir/graph/graph_bodies.h"
#include "models/zoo/zoo.h"
#include "runtime/artefact/gpu_program.h"
#include "runtime/executor/executor.h"
#include "schedule/analysis/loop_tree.h"
#include "schedule/steps/loop_kind.h"
#include "support/target_api.h"
#include "tests/compiler/run_compiled.h"
#include "tests/ir/parsed_graph.h"

// Artefacts for GPUs, looked at without one.
namespace tcc {
namespace {

CompileOptions TextFor(const std::string& target) {
  CompileOptions options;
  options.target = *FindTarget(target);
  options.verify = true;
  options.gpu_code = GpuCode::kCudaText;
  return options;
}

Artefact MustCompile(const Graph& graph, const CompileOptions& options) {
  StatusOr<Artefact> artefact = CompileGraph(graph, options);
  INFO(artefact.status());
  REQUIRE(artefact.ok());
  Status verified = VerifyArtefact(*artefact);
  INFO(verified);
  CHECK(verified.ok());
  return std::move(*artefact);
}

GpuProgram ProgramOf(const Artefact& artefact) {
  StatusOr<GpuProgram> program = ParseGpuProgram(artefact.kernels.bytes);
  INFO(program.status());
  REQUIRE(program.ok());
  Status verified = VerifyGpuProgram(*program, artefact.metadata);
  INFO(verified);
  CHECK(verified.ok());
  return std::move(*program);
}

Graph Inferred(const std::string& text) {
  Tensor yes = MakeZeroTensor(kBool, {});
  SetElementInt(yes, 0, 1);
  Graph graph = ParsedGraph(text, {{"yes", yes}});
  REQUIRE(InferShapes(graph).ok());
  return graph;
}

// Where the buffers of kernels start, whatever the loop counters are.
void CheckStarts(const Artefact& artefact, int& calls) {
  const Plan& plan = artefact.plan;
  for (const PlanCall* call : CallsIn(plan.body)) {
    ++calls;
    for (BufferId id : call->buffers) {
      for (int64_t counter = 0; counter < 4; ++counter) {
        std::vector<int64_t> variables(plan.fixed_variables() + plan.counters, counter);
        CHECK(*Evaluate(plan.buffers[id].offset, variables) % 16 == 0);
      }
    }
  }
}

int CheckStarts(const Artefact& artefact) {
  INFO(ToString(artefact.plan));
  int calls = 0;
  CheckStarts(artefact, calls);
  return calls;
}

// On the emulated GPU, against the interpreter; twice, since the second run is a recorded one.
void CheckRuns(const Graph& graph, const std::string& target) {
  StatusOr<LoadOptions> load = LoadOptionsFor(*FindTarget(target), Execution::kEmulator);
  if (!load.ok()) {
    WARN("skipped: nothing is emulated: " << Message(load.status()));
    return;
  }
  load->threads = 1;
  StatusOr<Module> module = Module::FromArtefact(MustCompile(graph, TextFor(target)), *load);
  INFO(module.status());
  REQUIRE(module.ok());
  std::vector<Tensor> inputs = *RandomInputs(module->metadata(), 4);
  std::vector<std::string> names;
  for (const TensorInfo& info : module->metadata().outputs) names.push_back(info.name);
  Executor executor(*module);
  for (int run = 0; run < 2; ++run) {
    StatusOr<std::vector<Tensor>> got = executor.Run(inputs);
    INFO(got.status());
    REQUIRE(got.ok());
    Status difference =
        CompareOutputs(*got, Expected(graph, inputs), names, {.rtol = 1e-4, .atol = 1e-5});
    INFO(difference);
    CHECK(difference.ok());
  }
}

// Thread 0 alone has the one row, which the guard says and not the index: what the thread keeps of
// it was in local memory.
TEST_CASE("attention of one query keeps its row in registers", "[compiler][gpu]") {
  for (int64_t keys : {8, 33}) {
    CompileOptions options;
    options.target = *FindTarget("sm_80");
    StatusOr<KernelSet> kernels = KernelsOf(Inferred(fmt::format(R"(graph attention {{
  input q: f32[1x4x1x64]
  input k: f32[1x4x{0}x64]
  input v: f32[1x4x{0}x64]
  t = Transpose(k) {{perm: [0, 1, 3, 2]}} : f32[]
  s = MatMul(q, t) : f32[]
  p = Softmax(s) {{axis: 3}} : f32[]
  y = MatMul(p, v) : f32[]
  return y
}})",
                                                                 keys)),
                                            options);
    INFO(kernels.status());
    REQUIRE(kernels.ok());
    REQUIRE(kernels->kernels.size() == 1);
    CHECK(kernels->kernels[0].sketch.find("attention") != std::string::npos);
    std::vector<Function> lowered = {kernels->kernels[0].lowered};
    StatusOr<CudaSource> source = EmitCuda(lowered, options.target);
    REQUIRE(source.ok());
    for (const Launch& launch : source->plans[0].launches) CHECK_FALSE(launch.indexes_locals);
  }
}

TEST_CASE("the text of every small network becomes an artefact for every GPU", "[compiler][gpu]") {
  for (const std::string& name : ZooNames()) {
    StatusOr<Graph> graph = BuildZoo(name, {.small = true});
    REQUIRE(graph.ok());
    for (const char* target : {"sm_75", "sm_90a"}) {
      INFO(name << " " << target);
      Artefact artefact = MustCompile(*graph, TextFor(target));
      CHECK(artefact.device == "cuda");
      CHECK(artefact.target == target);
      GpuProgram program = ProgramOf(artefact);
      CHECK(program.code == GpuCode::kCudaText);
      CHECK(CheckStarts(artefact) > 0);
    }
  }
}

TEST_CASE("parts that would start where no kernel expects it are copied", "[compiler][gpu]") {
  Graph graph = Inferred(R"(graph parts {
  input x: f32[2x3]
  input y: f32[2x8]
  a = Tanh(x) : f32[]
  b = Exp(y) : f32[]
  both = Concat(a, b) {axis: 1} : f32[]
  z = Neg(both) : f32[]
  return z
})");
  // Three floats are no multiple of 16 bytes: b is not computed in place, a is.
  CHECK(MustCompile(graph, TextFor("sm_86")).plan.body.size() == 4);
  CHECK(CheckStarts(MustCompile(graph, TextFor("sm_86"))) == 4);
  CheckRuns(graph, "sm_86");
}

TEST_CASE("slices of few bytes are copied before and after a loop's body", "[compiler][gpu]") {
  Tensor holds = MakeZeroTensor(kBool, {});
  SetElementInt(holds, 0, 1);
  Graph graph = ParsedGraph(R"(graph scan {
  input start: f32[3]
  input xs: f32[4x3]
  last, all = Loop(_, _, start, xs) {carried: 1, scan_input_axes: [0], scan_input_directions: [1], scan_output_axes: [0]} : f32[], f32[]
    body step {
      input i: i64[]
      input c: bool[]
      input s: f32[]
      input x: f32[]
      constant yes: bool[]
      t = Add(s, x) : f32[]
      y = Mul(t, x) : f32[]
      return yes, t, y
    }
  return last, all
})",
                            {{"yes", holds}});
  CHECK(CheckStarts(MustCompile(graph, TextFor("sm_86"))) > 0);
  CheckRuns(graph, "sm_86");
}

TEST_CASE("an artefact for a GPU is the same for any number of threads", "[compiler][gpu][nvrtc]") {
  if (!Nvrtc::Open().ok()) {
    WARN("skipped: nothing is compiled for a GPU: " << Message(Nvrtc::Open().status()));
    return;
  }
  StatusOr<Graph> graph = BuildZoo("dqn", {.small = true});
  REQUIRE(graph.ok());
  CompileOptions options;
  options.target = *FindTarget("sm_86");
  Artefact one = MustCompile(*graph, options);
  options.threads = 3;
  CHECK(ArtefactBytes(one) == ArtefactBytes(MustCompile(*graph, options)));
  CHECK(ProgramOf(one).code == GpuCode::kCubin);
}

// Was six, through global memory: flash attention was the choice for CPUs alone. On Hopper six are
// what its prior expects to be faster, and an H100 takes 24 us for them, 52 for one (BERT's).
TEST_CASE("the core of attention is one launch where no start is expected to be faster",
          "[compiler][gpu]") {
  Graph graph = Inferred(R"(graph attention {
  input q: f32[3x40x16]
  input k: f32[3x16x40]
  input v: f32[3x40x16]
  logits = MatMul(q, k) : f32[]
  weights = Softmax(logits) {axis: -1} : f32[]
  y = MatMul(weights, v) : f32[]
  return y
})");
  for (const Target& target : AllTargets()) {
    if (!IsCuda(target) || TakesFasterStarts(target)) continue;
    INFO(target.name);
    GpuProgram program = ProgramOf(MustCompile(graph, TextFor(target.name)));
    REQUIRE(program.kernels.size() == 1);
    CHECK(program.kernels[0].launches.size() == 1);
  }
}

// First blocks inside a loop in order, which no launch can be made of, then the outer loop's.
std::vector<SketchState> InnerThenOuter(const SketchState& state, const Block& block,
                                        const Target&) {
  SketchState inner = state, outer = state;
  inner.Do(Bind{BaseKey(block.name, block.iters.back()), ForKind::kBlockIdxX});
  outer.Do(Bind{BaseKey(block.name, block.iters.front()), ForKind::kBlockIdxX});
  return {inner, outer};
}

TEST_CASE("a kernel whose first schedule is refused gets the next one", "[compiler][gpu]") {
  Graph graph = Inferred(R"(graph one {
  input x: f32[48x64]
  y = Transpose(x) {perm: [1, 0]} : f32[]
  return y
})");
  CompileOptions options = TextFor("sm_86");
  options.sketch_rules = {{"inner then outer", InnerThenOuter, ""}};
  GpuProgram program = ProgramOf(MustCompile(graph, options));
  REQUIRE(program.kernels.size() == 1);
  CHECK(program.kernels[0].launches[0].grid[0].AsConstant() == 64);

  // One that the user gave is not replaced.
  options.schedules.emplace("y", ParseSchedule("bind y/j blockIdx.x").value());
  Status status = CompileGraph(graph, options).status();
  INFO(status);
  CHECK(status.code() == absl::StatusCode::kInvalidArgument);
  CHECK(Message(status).find("is inside loop 'y/i'") != std::string::npos);
}

}  // namespace
}  // namespace tcc
