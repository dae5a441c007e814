#include "tests/compiler/run_compiled.h"

#include <catch2/catch.hpp>

#include "compiler/check/compare_tensors.h"
#include "compiler/check/random_inputs.h"
#include "compiler/compile_graph.h"
#include "compiler/devices/reference_device.h"
#include "graph/passes/infer_shapes.h"
#include "graph/variants/interpret_graph.h"
#include "runtime/executor/executor.h"

namespace tcc {

Artefact Compiled(const Graph& graph, const std::string& target, int threads) {
  return Compiled(graph, *FindTarget(target), threads);
}

Artefact Compiled(const Graph& graph, const Target& target, int threads, NumericMode numeric) {
  CompileOptions options;
  options.target = target;
  options.threads = threads;
  options.verify = true;
  options.numeric = numeric;
  StatusOr<Artefact> artefact = CompileGraph(graph, options);
  INFO(artefact.status());
  REQUIRE(artefact.ok());
  return std::move(*artefact);
}

Module Loaded(Artefact artefact) {
  LoadOptions load;
  load.threads = 2;
  load.devices = AllDevices();
  StatusOr<Module> module = Module::FromArtefact(std::move(artefact), load);
  INFO(module.status());
  REQUIRE(module.ok());
  return *module;
}

std::vector<Tensor> Expected(Graph graph, const std::vector<Tensor>& inputs, NumericMode numeric) {
  REQUIRE(InferShapes(graph).ok());
  StatusOr<std::vector<Tensor>> outputs = InterpretGraph(graph, inputs, {.numeric = numeric});
  INFO(outputs.status());
  REQUIRE(outputs.ok());
  return *outputs;
}

Status DifferenceOn(const Graph& graph, const std::string& target) {
  return DifferenceOn(graph, *FindTarget(target));
}

Status DifferenceOn(const Graph& graph, const Target& target, NumericMode numeric) {
  Module module = Loaded(Compiled(graph, target, 1, numeric));
  std::vector<Tensor> inputs = *RandomInputs(module.metadata(), 4);
  std::vector<Tensor> expected = Expected(graph, inputs, numeric);
  std::vector<std::string> names;
  for (const TensorInfo& info : module.metadata().outputs) names.push_back(info.name);
  Executor executor(module);
  for (int run = 0; run < 2; ++run) {
    TCC_ASSIGN_OR_RETURN(std::vector<Tensor> got, executor.Run(inputs));
    TCC_RETURN_IF_ERROR(CompareOutputs(got, expected, names, {.rtol = 1e-4, .atol = 1e-5}));
  }
  return OkStatus();
}

}  // namespace tcc
