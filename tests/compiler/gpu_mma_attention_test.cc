// Attention on emulated tensor cores: operands of 16 bits, in modes and in models of these types.

#include <catch2/catch.hpp>

#include "codegen_cuda/nvrtc/nvrtc.h"
#include "compiler/check/compare_tensors.h"
#include "compiler/check/random_inputs.h"
#include "compiler/compile_graph.h"
#include "compiler/devices/emulated_device.h"
#include "compiler/kernels.h"
#include "ir/expr/visitor.h"
#include "models/zoo/graph_builder.h"
#include "runtime/artefact/gpu_program.h"
#include "runtime/executor/executor.h"
#include "tests/compiler/run_compiled.h"

namespace tcc {
namespace {

struct Shape {
  int64_t heads = 2, key_heads = 2, queries = 16, keys = 16, depth = 16, width = 16;
  bool causal = false, masked = false;
};

// A mask hides every third key, and all keys from the second query.
Tensor MaskOf(const Shape& shape) {
  Tensor mask = MakeZeroTensor(kFloat32, {1, 1, shape.queries, shape.keys});
  for (int64_t i = 0; i < shape.queries; ++i) {
    for (int64_t t = 0; t < shape.keys; ++t) {
      bool hidden = i == 1 || (i + t) % 3 == 0;
      SetElement(mask, i * shape.keys + t, hidden ? -INFINITY : 0.01 * static_cast<double>(t));
    }
  }
  return mask;
}

Graph GraphOf(const Shape& shape) {
  GraphBuilder net("attention", 5);
  std::vector<ValueId> inputs = {net.Input("q", {1, shape.heads, shape.queries, shape.depth}),
                                 net.Input("k", {1, shape.key_heads, shape.keys, shape.depth}),
                                 net.Input("v", {1, shape.key_heads, shape.keys, shape.width})};
  if (shape.masked) inputs.push_back(net.Constant("mask", MaskOf(shape)));
  net.Output(net.Emit("y", OpKind::kAttention, inputs, {{"is_causal", int64_t{shape.causal}}}), {});
  return net.Take();
}

CompileOptions OptionsFor(const std::string& target, NumericMode numeric) {
  CompileOptions options{.target = *FindTarget(target)};
  options.numeric = numeric;
  return options;
}

bool UsesMma(const Function& fn) {
  return tcc::Contains(fn.body, [](const Stmt& stmt) {
    const auto* call = stmt.as<IntrinsicCall>();
    return call && call->intrinsic.starts_with("mma_m16n8k16_");
  });
}

// Compiles to text and notes the kernel on its way.
StatusOr<Artefact> Compiled(const Graph& graph, CompileOptions options, KernelStages& kernel) {
  options.gpu_code = GpuCode::kCudaText;
  options.verify = true;
  options.watch = [&](const KernelSet& set) {
    REQUIRE(set.kernels.size() == 1);
    kernel = set.kernels[0];
  };
  return CompileGraph(graph, options);
}

void CheckOn(const std::string& target, const Shape& shape, NumericMode numeric) {
  INFO(target << ": " << shape.heads << " of " << shape.key_heads << " heads, " << shape.queries
              << " x " << shape.keys << ", " << shape.depth << ", " << shape.width
              << (shape.causal ? " causal" : "") << (shape.masked ? " masked" : ""));
  StatusOr<LoadOptions> load = LoadOptionsFor(*FindTarget(target), Execution::kEmulator);
  if (!load.ok()) {
    WARN("skipped: nothing is emulated: " << Message(load.status()));
    return;
  }
  const Graph graph = GraphOf(shape);
  KernelStages kernel;
  StatusOr<Artefact> artefact = Compiled(graph, OptionsFor(target, numeric), kernel);
  INFO(artefact.status());
  REQUIRE(artefact.ok());
  CHECK(UsesMma(kernel.lowered));
  load->threads = 1;
  Module module = Module::FromArtefact(*std::move(artefact), *load).value();
  Executor executor(module);
  std::vector<Tensor> inputs = *RandomInputs(module.metadata(), 3, {});
  StatusOr<std::vector<Tensor>> got = executor.Run(inputs);
  INFO(got.status());
  REQUIRE(got.ok());
  // Weights of sum 1, values of at most 4: a product's error enters four times, by both operands,
  // the score and its exponential (docs/numeric.md), but not all at their bounds.
  const double error = RowOf(numeric).product_error;
  Status difference = CompareOutputs(*got, Expected(graph, inputs), {"y"},
                                     Tolerance{.rtol = 4 * error, .atol = 4 * error});
  INFO(difference);
  CHECK(difference.ok());
}

constexpr NumericMode kModes[] = {NumericMode::kFp16, NumericMode::kBf16};

TEST_CASE("attention on tensor cores is right for masks, tails, few queries and grouped heads",
          "[compiler][gpu][attention]") {
  const Shape shapes[] = {
      {.queries = 21, .keys = 37, .masked = true},
      {.queries = 19, .keys = 19, .depth = 12, .width = 32, .causal = true},
      {.queries = 8, .keys = 45},
      {.queries = 33, .keys = 70, .depth = 32, .width = 32, .masked = true},
      {.queries = 70, .keys = 33, .depth = 4},
      {.heads = 4, .key_heads = 2, .queries = 9, .keys = 18, .depth = 20},
      {.heads = 1, .key_heads = 1, .queries = 17, .keys = 100, .depth = 80, .width = 80},
      {.heads = 1, .key_heads = 1, .queries = 16, .keys = 65, .depth = 128, .width = 128},
  };
  for (NumericMode numeric : kModes) {
    for (const Shape& shape : shapes) CheckOn("sm_80", shape, numeric);
  }
}

TEST_CASE("the 197 tokens of an image are attended to on tensor cores",
          "[compiler][gpu][attention]") {
  CheckOn("sm_90a",
          {.heads = 1, .key_heads = 1, .queries = 197, .keys = 197, .depth = 64, .width = 64},
          NumericMode::kFp16);
}

TEST_CASE("attention is strict where tensor cores have no instruction, and in modes of f32",
          "[compiler][gpu][attention]") {
  const Graph graph = GraphOf({.queries = 32, .keys = 32, .depth = 32, .width = 32});
  KernelStages kernel;
  for (NumericMode numeric : {NumericMode::kStrict, NumericMode::kTf32, NumericMode::k3xTf32}) {
    REQUIRE(Compiled(graph, OptionsFor("sm_80", numeric), kernel).ok());
    CHECK_FALSE(UsesMma(kernel.lowered));
  }
  REQUIRE(Compiled(graph, OptionsFor("sm_75", NumericMode::kFp16), kernel).ok());
  CHECK_FALSE(UsesMma(kernel.lowered));
  // Most of a tile would be padding, or cells could not be staged in vectors.
  for (const Shape& shape : {Shape{.queries = 1, .keys = 45}, Shape{.queries = 70, .depth = 7},
                             Shape{.queries = 70, .width = 24}}) {
    REQUIRE(Compiled(GraphOf(shape), OptionsFor("sm_80", NumericMode::kFp16), kernel).ok());
    CHECK_FALSE(UsesMma(kernel.lowered));
  }
}

TEST_CASE("attention on tensor cores stays in registers on every architecture",
          "[compiler][gpu][attention]") {
  if (!Nvrtc::Open().ok()) {
    WARN("skipped: nothing is compiled for a GPU: " << Message(Nvrtc::Open().status()));
    return;
  }
  for (int64_t width : {64, 128}) {
    const Graph graph = GraphOf({.queries = 197, .keys = 197, .depth = width, .width = width});
    for (const char* target : {"sm_80", "sm_86", "sm_89", "sm_90a"}) {
      INFO(target << " " << width);
      StatusOr<Artefact> artefact = CompileGraph(graph, OptionsFor(target, NumericMode::kFp16));
      INFO(artefact.status());
      REQUIRE(artefact.ok());
      GpuProgram program = ParseGpuProgram(artefact->kernels.bytes).value();
      REQUIRE(program.kernels.size() == 1);
      CHECK(program.kernels[0].launches.size() == 1);
      REQUIRE(artefact->metadata.kernels.size() == 1);
      for (const auto& [name, value] : artefact->metadata.kernels[0].statistics) {
        INFO(name);
        bool none = name == "local_bytes" || name == "spill_bytes" || name == "warnings";
        CHECK((!none || value == 0));
      }
    }
  }
}

}  // namespace
}  // namespace tcc
