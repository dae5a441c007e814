#include "compiler/compile_graph.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <set>

#include "compiler/compile_kernels.h"
#include "compiler/describe_model.h"
#include "compiler/execution_plan.h"
#include "compiler/kernels.h"
#include "compiler/memory_need.h"
#include "compiler/notes.h"
#include "compiler/prepare_weights.h"
#include "compiler/shared_constants.h"
#include "graph/passes/fractional_resizes.h"
#include "graph/passes/graph_pipeline.h"
#include "graph/passes/infer_shapes.h"
#include "runtime/artefact/artefact_device.h"
#include "support/stop.h"
#include "support/version.h"
#include "support/wanted_option.h"

namespace tcc {
namespace {

// Fails with Unimplemented, naming all unbound dimensions, if an input has any: one of several
// listed sizes has numbers for all extents.
Status ExpectBoundInputs(const Graph& graph, const ListedSizes& listed) {
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
  Status status = Unsupported(
      "inputs have free dimensions: {}; expected each to be given a value, or a range for {}, "
      "which adds kernels for any size",
      fmt::join(inputs, ", "), fmt::join(listed.dims, ", "));
  for (const std::string& dim : dims) status = WithOption(status, Option::kDims, dim);
  for (const std::string& input : shapes) status = WithOption(status, Option::kShapes, input);
  return status;
}

// Warns of what the passes found odd. A line that comes at several sizes is told once.
void WarnOfOddities(const std::vector<std::string>& lines, std::set<std::string>& told,
                    const CompileOptions& options) {
  for (const std::string& line : lines) {
    if (options.warn && told.insert(line).second) options.warn(line);
  }
}

std::vector<std::vector<Expr>> InputShapes(const Graph& graph) {
  std::vector<std::vector<Expr>> shapes;
  for (ValueId id : graph.inputs) shapes.push_back(graph.value(id).shape);
  return shapes;
}

// Returns a line for each free dimension of the inputs that inference made a number.
std::vector<std::string> SettledDims(const std::vector<std::vector<Expr>>& given,
                                     const std::vector<std::vector<Expr>>& inferred) {
  std::vector<std::string> lines;
  for (size_t i = 0; i < given.size(); ++i) {
    for (size_t axis = 0; axis < given[i].size(); ++axis) {
      const auto* dim = given[i][axis].as<VarNode>();
      std::optional<int64_t> extent = AsConstant(inferred[i][axis]);
      if (!dim || !extent) continue;
      lines.push_back(
          fmt::format("dimension {} can only be {}: the model's nodes agree at no other extent",
                      dim->name, *extent));
    }
  }
  return lines;
}

// Runs the passes on a graph and cuts it into subgraphs; notes what they did.
StatusOr<FusedGraph> Optimize(Graph graph, const CompileOptions& options,
                              std::set<std::string>& told, SizeNotes& notes) {
  std::vector<std::string> output_names = OutputNames(graph);
  std::vector<std::vector<Expr>> declared = DeclaredShapes(graph);
  std::vector<std::vector<Expr>> given = InputShapes(graph);
  if (options.notes) notes.before = DescribeImported(graph);
  int64_t nodes = CountNodes(graph);
  auto note_pass = [&](const GraphPass& pass, const Graph& after) {
    int64_t before = std::exchange(nodes, CountNodes(after));
    notes.passes.push_back({std::string(pass.name), before, nodes});
  };
  TCC_RETURN_IF_ERROR(RunGraphPasses(graph, options.target.kind, options.stop, note_pass));
  WarnOfOddities(ContradictedShapes(graph, output_names, declared), told, options);
  WarnOfOddities(FractionalResizes(graph), told, options);
  WarnOfOddities(SettledDims(given, InputShapes(graph)), told, options);
  TCC_RETURN_IF_ERROR(CheckWeightMemory(graph));
  // The artefact may be for a larger machine.
  Status can_run = CheckMemoryNeed(graph, options.target);
  if (!can_run.ok()) {
    WarnOfOddities({"the model cannot run on this machine: " + Message(can_run)}, told, options);
  }
  return FuseSubgraphs(std::move(graph), options.target, options.numeric);
}

// Returns the failure of a model's graph, one of `graphs`, with its size where that is listed.
Status AtSize(const Status& status, const ListedSizes& listed, size_t number, size_t graphs) {
  const size_t others = graphs - listed.sizes.size();
  if (status.ok() || number < others) return status;
  return Annotate(status, "at " + SizeText(listed, number - others));
}

}  // namespace

StatusOr<Artefact> CompileGraph(Graph graph, const CompileOptions& options) {
  SizedModel model;
  model.graphs.push_back(std::move(graph));
  return CompileModel(std::move(model), options);
}

StatusOr<Artefact> CompileModel(SizedModel model, const CompileOptions& options) {
  auto report = [&](const char* stage) {
    if (options.progress) options.progress(stage, 0, 1);
  };
  report("graph");
  std::vector<std::string> output_names = OutputNames(model.graphs[0]);
  std::vector<FusedGraph> graphs;
  std::vector<SizeNotes> notes(model.graphs.size());
  std::set<std::string> told;
  SharedConstants constants;
  const bool may_be_free = model.graphs.size() > model.listed.sizes.size();
  for (size_t i = 0; i < model.graphs.size(); ++i) {
    Status bound = may_be_free ? OkStatus() : ExpectBoundInputs(model.graphs[i], model.listed);
    StatusOr<FusedGraph> fused =
        bound.ok() ? Optimize(std::move(model.graphs[i]), options, told, notes[i]) : bound;
    if (!fused.ok()) return AtSize(fused.status(), model.listed, i, model.graphs.size());
    if (model.graphs.size() > 1) constants.Share(fused->graph);
    graphs.push_back(*std::move(fused));
  }

  TCC_ASSIGN_OR_RETURN(KernelSet kernels, MakeKernels(graphs, options));
  TCC_ASSIGN_OR_RETURN(CompiledModule code, CompileKernels(kernels, options));
  if (options.watch) options.watch(kernels);
  report("plan");
  TCC_RETURN_IF_ERROR(StopIfRequested(options.stop));
  TCC_ASSIGN_OR_RETURN(ExecutionPlan plan,
                       BuildExecutionPlan(graphs, model.listed, kernels, options.target));

  TCC_RETURN_IF_ERROR(PrepareWeights(kernels, plan.prepared, options.threads, options.stop));

  Artefact artefact;
  artefact.target = options.target.name;
  artefact.device = ArtefactDevice(options.target);
  artefact.environment = Sha256(fmt::format("tcc {} {}", kVersion, options.target.name));
  artefact.kernels = OwnBytes(std::move(code.image));
  artefact.weights = plan.weights;
  artefact.plan = std::move(plan.plan);
  TCC_ASSIGN_OR_RETURN(artefact.metadata, DescribeModel(graphs, model.listed, output_names, kernels,
                                                        code, options.target, options.numeric));
  if (options.notes) {
    artefact.notes =
        OwnBytes(NotesBytes(DescribeCompilation(graphs, std::move(notes), kernels, plan)));
  }
  return artefact;
}

}  // namespace tcc
