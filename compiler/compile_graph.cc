#include "compiler/compile_graph.h"

#include <fmt/ranges.h>

#include <algorithm>

#include "compiler/compile_kernels.h"
#include "compiler/describe_model.h"
#include "compiler/execution_plan.h"
#include "compiler/kernels.h"
#include "compiler/memory_need.h"
#include "compiler/notes.h"
#include "compiler/prepare_weights.h"
#include "graph/passes/fractional_resizes.h"
#include "graph/passes/graph_pipeline.h"
#include "graph/passes/infer_shapes.h"
#include "graph/variants/alias_parts.h"
#include "runtime/artefact/artefact_device.h"
#include "support/stop.h"
#include "support/version.h"
#include "support/wanted_option.h"

namespace tcc {

Status ExpectBoundInputs(const Graph& graph) {
  std::vector<std::string> inputs, dims, shapes;
  for (ValueId id : graph.inputs) {
    const Value& value = graph.value(id);
    std::vector<std::string> names = FreeDimensions(value);
    if (names.empty()) continue;
    inputs.push_back(fmt::format("'{}' ({})", value.name, fmt::join(names, ", ")));
    shapes.push_back(value.name);
    for (const std::string& name : names) {
      if (std::ranges::find(dims, name) == dims.end()) dims.push_back(name);
    }
  }
  if (inputs.empty()) return OkStatus();
  Status status = Unsupported("inputs have free dimensions: {}; expected each to be given a value",
                              fmt::join(inputs, ", "));
  for (const std::string& dim : dims) status = WithOption(status, Option::kDims, dim);
  for (const std::string& input : shapes) status = WithOption(status, Option::kShapes, input);
  return status;
}

StatusOr<Artefact> CompileGraph(Graph graph, const CompileOptions& options) {
  auto report = [&](const char* stage) {
    if (options.progress) options.progress(stage, 0, 1);
  };
  report("graph");
  TCC_RETURN_IF_ERROR(ExpectBoundInputs(graph));
  std::vector<std::string> output_names = OutputNames(graph);
  std::vector<std::vector<Expr>> declared = DeclaredShapes(graph);
  Notes notes;
  if (options.notes) notes.before = DescribeImported(graph);
  int64_t nodes = CountNodes(graph);
  auto note_pass = [&](const GraphPass& pass, const Graph& after) {
    int64_t before = std::exchange(nodes, CountNodes(after));
    notes.passes.push_back({std::string(pass.name), before, nodes});
  };
  TCC_RETURN_IF_ERROR(RunGraphPasses(graph, options.target.kind, options.stop, note_pass));
  if (options.warn) {
    for (const std::string& line : ContradictedShapes(graph, output_names, declared)) {
      options.warn(line);
    }
    for (const std::string& line : FractionalResizes(graph)) options.warn(line);
  }
  TCC_RETURN_IF_ERROR(CheckWeightMemory(graph));
  // The artefact may be for a larger machine.
  Status can_run = CheckMemoryNeed(graph, options.target);
  if (options.warn && !can_run.ok()) {
    options.warn("the model cannot run on this machine: " + Message(can_run));
  }
  std::vector<Subgraph> subgraphs = FuseGraph(graph, FusionFor(options.target.kind));
  AliasedParts parts = AliasParts(graph, subgraphs, options.target.BufferAlignment());

  TCC_ASSIGN_OR_RETURN(KernelSet kernels, MakeKernels(graph, subgraphs, parts, options));
  TCC_ASSIGN_OR_RETURN(CompiledModule code, CompileKernels(kernels, options));
  if (options.watch) options.watch(kernels);
  report("plan");
  TCC_RETURN_IF_ERROR(StopIfRequested(options.stop));
  TCC_ASSIGN_OR_RETURN(ExecutionPlan plan,
                       BuildExecutionPlan(graph, subgraphs, kernels, options.target));

  TCC_RETURN_IF_ERROR(PrepareWeights(kernels, plan.prepared, options.threads, options.stop));

  Artefact artefact;
  artefact.target = options.target.name;
  artefact.device = ArtefactDevice(options.target.kind);
  artefact.environment = Sha256(fmt::format("tcc {} {}", kVersion, options.target.name));
  artefact.kernels = OwnBytes(std::move(code.image));
  artefact.weights = plan.weights;
  artefact.plan = std::move(plan.plan);
  TCC_ASSIGN_OR_RETURN(artefact.metadata, DescribeModel(graph, output_names, kernels, code,
                                                        options.target, options.numeric));
  if (options.notes) {
    DescribeCompilation(graph, kernels, plan, notes);
    artefact.notes = OwnBytes(NotesBytes(notes));
  }
  return artefact;
}

}  // namespace tcc
