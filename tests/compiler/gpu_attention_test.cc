// Attention on the emulated GPU, in tiles: threads of blocks in two orders, its detectors of races,
// and the machine code of its kernels.

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
  int64_t heads = 2, key_heads = 2, queries = 5, keys = 5, depth = 8, width = 8;
  bool causal = false, masked = false;
};

// A mask hides every third key, and all keys from the second query.
Tensor MaskOf(const Shape& shape) {
  Tensor mask = MakeZeroTensor(kFloat32, {1, 1, shape.queries, shape.keys});
  for (int64_t i = 0; i < shape.queries; ++i) {
    for (int64_t t = 0; t < shape.keys; ++t) {
      bool hidden = i == 1 || (i + t) % 3 == 0;
      SetElement(mask, i * shape.keys + t, hidden ? -INFINITY : 0.25 * static_cast<double>(t));
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

// Compiles to text and notes the kernel on its way.
StatusOr<Artefact> Compiled(const Graph& graph, const std::string& target, KernelStages& kernel) {
  CompileOptions options{.target = *FindTarget(target)};
  options.gpu_code = GpuCode::kCudaText;
  options.verify = true;
  options.watch = [&](const KernelSet& set) {
    REQUIRE(set.kernels.size() == 1);
    kernel = set.kernels[0];
  };
  return CompileGraph(graph, options);
}

void CheckOn(const std::string& target, const Shape& shape) {
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
  StatusOr<Artefact> artefact = Compiled(graph, target, kernel);
  INFO(artefact.status());
  REQUIRE(artefact.ok());
  CHECK(kernel.sketch == "attention");
  load->threads = 1;
  Module module = Module::FromArtefact(*std::move(artefact), *load).value();
  Executor executor(module);
  std::vector<Tensor> inputs = *RandomInputs(module.metadata(), 3, {});
  StatusOr<std::vector<Tensor>> got = executor.Run(inputs);
  INFO(got.status());
  REQUIRE(got.ok());
  Status difference =
      CompareOutputs(*got, Expected(graph, inputs), {"y"}, Tolerance{.rtol = 1e-4, .atol = 1e-5});
  INFO(difference);
  CHECK(difference.ok());
}

TEST_CASE("attention in tiles is right for masks, tails, few queries, odd and grouped heads",
          "[compiler][gpu][attention]") {
  const Shape shapes[] = {
      {.queries = 21, .keys = 37, .depth = 16, .width = 16, .masked = true},
      {.queries = 19, .keys = 19, .depth = 12, .width = 20, .causal = true},
      {.queries = 1, .keys = 45, .depth = 8, .width = 8},
      {.queries = 3, .keys = 70, .depth = 8, .width = 8, .masked = true},
      {.queries = 10, .keys = 33, .depth = 7, .width = 5},
      {.heads = 4, .key_heads = 2, .queries = 9, .keys = 18, .depth = 10, .width = 6},
      {.heads = 1, .key_heads = 1, .queries = 6, .keys = 20, .depth = 128, .width = 128},
      {.heads = 1, .key_heads = 1, .queries = 5, .keys = 11, .depth = 256, .width = 256},
  };
  for (const Shape& shape : shapes) {
    for (const char* target : {"sm_75", "sm_80"}) CheckOn(target, shape);
  }
}

TEST_CASE("the 197 tokens of an image are attended to in tiles", "[compiler][gpu][attention]") {
  CheckOn("sm_80",
          {.heads = 1, .key_heads = 1, .queries = 197, .keys = 197, .depth = 64, .width = 64});
}

TEST_CASE("no barrier lies between the sums of a tile and the context that takes them",
          "[compiler][gpu][attention]") {
  KernelStages kernel;
  const Shape shape{.queries = 40, .keys = 90, .depth = 16, .width = 16};
  REQUIRE(Compiled(GraphOf(shape), "sm_80", kernel).ok());
  // Whether a barrier followed the last store to the tile's sums.
  bool summed = false, waited = false;
  int64_t combined = 0;
  PreOrder(kernel.lowered.body, [&](const Stmt& stmt) {
    if (stmt.as<Barrier>()) waited = true;
    const auto* store = stmt.as<Store>();
    if (!store) return;
    const std::string& name = store->buffer->name;
    if (name == "y_core.tile.2") {
      summed = true;
      waited = false;
    }
    if (name != "y_context" || !summed) return;
    ++combined;
    CHECK_FALSE(waited);
  });
  CHECK(combined > 0);
}

TEST_CASE("tiles of attention stay in registers on every architecture",
          "[compiler][gpu][attention]") {
  if (!Nvrtc::Open().ok()) {
    WARN("skipped: nothing is compiled for a GPU: " << Message(Nvrtc::Open().status()));
    return;
  }
  const Graph graph = GraphOf(
      {.heads = 12, .key_heads = 12, .queries = 197, .keys = 197, .depth = 64, .width = 64});
  for (const char* target : {"sm_75", "sm_80", "sm_86", "sm_89", "sm_90a"}) {
    INFO(target);
    StatusOr<Artefact> artefact = CompileGraph(graph, {.target = *FindTarget(target)});
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

}  // namespace
}  // namespace tcc
