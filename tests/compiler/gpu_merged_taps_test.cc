// The first layer of a network on a GPU, from its kernels' text on the emulated one.

#include <algorithm>
#include <catch2/catch.hpp>

#include "compiler/check/compare_tensors.h"
#include "compiler/check/random_inputs.h"
#include "compiler/compile_graph.h"
#include "compiler/devices/emulated_device.h"
#include "compiler/kernels.h"
#include "ir/text/printer.h"
#include "models/zoo/graph_builder.h"
#include "runtime/executor/executor.h"
#include "tests/compiler/run_compiled.h"

namespace tcc {
namespace {

using Ints = std::vector<int64_t>;

// ResNet's first layer.
Graph FirstLayer(const Ints& input) {
  GraphBuilder net("first", 5);
  const ConvSpec conv{.in = 3, .out = 64, .kernel = 7, .stride = 2, .padding = 3};
  net.Output(net.Relu("relu", net.Conv("conv", net.Input("x", input), conv)), {});
  return net.Take();
}

struct Compilation {
  std::optional<Module> module;  // none where nothing is emulated
  std::string first;             // the scheduled text of the first kernel
  size_t kernels = 0;
};

Compilation Emulated(const Graph& graph, const std::string& target) {
  CompileOptions options{.target = *FindTarget(target), .verify = true};
  options.gpu_code = GpuCode::kCudaText;
  Compilation compilation;
  options.watch = [&](const KernelSet& set) {
    compilation.kernels = set.kernels.size();
    compilation.first = Print(set.kernels[0].scheduled);
  };
  StatusOr<Artefact> artefact = CompileGraph(graph, options);
  INFO(artefact.status());
  REQUIRE(artefact.ok());
  StatusOr<LoadOptions> load = LoadOptionsFor(options.target, Execution::kEmulator);
  if (!load.ok()) {
    WARN("skipped: nothing is emulated: " << Message(load.status()));
    return compilation;
  }
  StatusOr<Module> module = Module::FromArtefact(*std::move(artefact), *load);
  INFO(module.status());
  REQUIRE(module.ok());
  compilation.module = *module;
  return compilation;
}

void CheckOutputs(const std::vector<Tensor>& got, const std::vector<Tensor>& expected) {
  Status difference = CompareOutputs(got, expected, {"relu"}, {.rtol = 1e-4, .atol = 1e-4});
  INFO(difference);
  CHECK(difference.ok());
}

}  // namespace

TEST_CASE("the first layer of a network reads merged taps, which the repack pads",
          "[compiler][gpu][merged_taps]") {
  const Graph graph = FirstLayer({1, 3, 96, 95});
  for (const char* target : {"sm_75", "sm_86", "sm_90a"}) {
    Compilation compilation = Emulated(graph, target);
    INFO(target << "\n" << compilation.first);
    // The other kernel repacks the result.
    CHECK(compilation.kernels == 2);
    // sm_90a takes what is expected to be fastest.
    if (std::string_view(target) != "sm_90a") {
      CHECK(compilation.first.find("conv_rows: f32[1, 101, 304]\n") != std::string::npos);
      CHECK(compilation.first.find("for ax21 in 0..4 vectorized") != std::string::npos);
    }
    if (!compilation.module) continue;
    std::vector<Tensor> inputs = *RandomInputs(compilation.module->metadata(), 3);
    Module native = Loaded(Compiled(graph, "native"));
    CheckOutputs(Executor(*compilation.module).Run(inputs).value(),
                 Executor(native).Run(inputs).value());
  }
}

TEST_CASE("merged taps of images of any size are right at any", "[compiler][gpu][merged_taps]") {
  Graph free = FirstLayer({1, 3, 224, 224});
  for (const Node& node : free.nodes) {
    for (ValueId id : node.outputs) free.values[id].shape.clear();
  }
  std::vector<Expr>& shape = free.values[free.inputs[0]].shape;
  shape = {ShapeVar("N", 1, 64, 1), 3, ShapeVar("H", 1, 512, 224), ShapeVar("W", 1, 512, 224)};
  for (size_t d : {0, 2, 3}) free.shape_vars.emplace_back(shape[d].as<VarNode>());
  Compilation compilation = Emulated(free, "sm_86");
  INFO(compilation.first);
  CHECK(compilation.first.find("alloc conv_rows: ") != std::string::npos);
  if (!compilation.module) return;
  Executor executor(*compilation.module);
  for (const Ints& sizes : {Ints{1, 11, 13}, Ints{2, 21, 1}, Ints{3, 1, 34}}) {
    std::vector<Tensor> inputs = *RandomInputs(compilation.module->metadata(), 3, sizes);
    CheckOutputs(executor.Run(inputs).value(), Expected(FirstLayer(inputs[0].shape), inputs));
  }
}

}  // namespace tcc
