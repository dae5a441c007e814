#include <fmt/ranges.h>

#include <algorithm>
#include <memory>

#include "cli/command.h"
#include "cli/compile_now.h"
#include "cli/feed.h"
#include "cli/layer_report.h"
#include "cli/model_options.h"
#include "cli/numeric_option.h"
#include "cli/progress.h"
#include "cli/threads_option.h"
#include "compiler/check/rounding_allowance.h"
#include "compiler/devices/emulated_device.h"
#include "graph/passes/graph_pipeline.h"
#include "graph/passes/infer_shapes.h"
#include "graph/variants/interpret_graph.h"
#include "runtime/executor/executor.h"

namespace tcc {
namespace {

struct CheckCommand {
  ModelOptions model;
  std::string artefact;
  CompileNowOptions compile;
  FeedOptions feed;
  bool emulate = false;
  bool layers = false;
  bool json = false;
  ProgressOptions progress;
  int threads = 0;
};

// Returns the file that errors about the artefact name.
const std::string& FileOf(const CheckCommand& command) {
  return command.artefact.empty() ? command.model.path : command.artefact;
}

// An artefact and the way to run it.
struct Runnable {
  Artefact artefact;
  LoadOptions load;
};

// Returns whether an input of an artefact may be the model's, as far as its sizes are known.
bool IsInput(const TensorInfo& compiled, const Value& model) {
  if (compiled.name != model.name || compiled.dtype != model.dtype ||
      compiled.shape.size() != model.shape.size()) {
    return false;
  }
  std::optional<std::vector<int64_t>> shape = StaticShape(model);
  for (size_t i = 0; shape && i < shape->size(); ++i) {
    if (compiled.shape[i].AsConstant().value_or((*shape)[i]) != (*shape)[i]) return false;
  }
  return true;
}

// Checks that the artefact has the inputs of the model. That is cheap and tells another model
// mostly.
Status CheckInputs(const Metadata& metadata, const Graph& graph) {
  auto is_input = [&](const TensorInfo& info, ValueId id) {
    return IsInput(info, graph.value(id));
  };
  if (std::ranges::equal(metadata.inputs, graph.inputs, is_input)) return OkStatus();
  std::vector<std::string> compiled, model;
  for (const TensorInfo& info : metadata.inputs) {
    compiled.push_back(fmt::format("'{}' {}", info.name, TypeText(info, metadata)));
  }
  for (ValueId id : graph.inputs) {
    const Value& value = graph.value(id);
    std::optional<std::vector<int64_t>> shape = StaticShape(value);
    model.push_back(fmt::format("'{}' {}[{}]", value.name, ToString(value.dtype),
                                shape ? ShapeToString(*shape) : "?"));
  }
  return InvalidInput("it was not made of this model: its inputs are {}; the model's are {}",
                      fmt::join(compiled, ", "), fmt::join(model, ", "));
}

StatusOr<Runnable> RunnableToCheck(const CheckCommand& command, const Graph& graph,
                                   Progress& progress) {
  Execution execution = command.emulate ? Execution::kEmulator : Execution::kDevice;
  Runnable runnable;
  if (!command.artefact.empty()) {
    if (command.emulate) {
      return UsageError(
          "--emulate wants --target sm_..., not an artefact: that holds no CUDA text");
    }
    TCC_ASSIGN_OR_RETURN(runnable.artefact, ReadArtefact(command.artefact));
    TCC_RETURN_IF_ERROR(Annotate(CheckInputs(runnable.artefact.metadata, graph), command.artefact));
    TCC_ASSIGN_OR_RETURN(Target target, FindTarget(runnable.artefact.target));
    TCC_ASSIGN_OR_RETURN(runnable.load, LoadOptionsFor(target, execution));
    return runnable;
  }
  TCC_ASSIGN_OR_RETURN(Target target, TargetOf(command.compile));
  TCC_ASSIGN_OR_RETURN(runnable.load, LoadOptionsFor(target, execution));
  GpuCode gpu_code = command.emulate ? GpuCode::kCudaText : GpuCode::kCubin;
  TCC_ASSIGN_OR_RETURN(
      runnable.artefact,
      CompileNow(graph, command.compile, ThreadCount(command.threads), gpu_code, progress));
  return runnable;
}

// The model's outputs, and the graph and inputs that say what they should be.
struct Answer {
  Graph graph;
  std::vector<Tensor> inputs, outputs;
  Metadata metadata;
};

// Compares with the interpreter, which has none of the layouts, folding and schedules of the
// compiled model and does not round operands. The error that rounding may cause is computed only
// where the outputs differ.
Status CompareWithReference(Answer answer, const Tolerance& tolerance,
                            const InterpretGraphOptions& options) {
  TCC_RETURN_IF_ERROR(InferShapes(answer.graph));
  TCC_ASSIGN_OR_RETURN(NumericMode numeric, NumericModeOf(answer.metadata));
  TCC_ASSIGN_OR_RETURN(std::vector<Tensor> expected,
                       InterpretGraph(answer.graph, answer.inputs, options));
  std::vector<Allowance> allowances;
  std::vector<std::string> names = OutputNames(answer.metadata);
  bool rounds = numeric != NumericMode::kStrict || HasNarrowFloats(answer.graph);
  if (rounds && !CompareOutputs(answer.outputs, expected, names, tolerance).ok()) {
    InterpretGraphOptions rounding = options;
    rounding.numeric = numeric;
    TCC_ASSIGN_OR_RETURN(allowances,
                         RoundingAllowances(answer.graph, answer.inputs, expected, rounding));
  }
  return CompareAndPrint(answer.outputs, expected, answer.metadata, tolerance, allowances);
}

// Compares each kernel's result with the interpreter, which runs the graph after the passes.
Status CompareLayers(const Module& module, Graph graph, const Notes& notes,
                     const std::vector<Tensor>& inputs, const CheckCommand& command,
                     Progress& progress) {
  TCC_ASSIGN_OR_RETURN(Target target, FindTarget(module.artefact().target));
  TCC_RETURN_IF_ERROR(RunGraphPasses(graph, target.kind));
  LayerOptions options;
  options.tolerance = command.feed.tolerance;
  options.threads = ThreadCount(command.threads);
  options.progress = progress.hook();
  TCC_ASSIGN_OR_RETURN(options.numeric, NumericModeOf(module.metadata()));
  StatusOr<std::vector<CheckedCall>> calls = CheckLayers(module, graph, notes, inputs, options);
  if (!calls.ok()) return Annotate(calls.status(), FileOf(command));
  progress.Clear();
  return ReportLayers(*calls, notes, command.json ? LayerFormat::kJson : LayerFormat::kText);
}

Status RunCheck(const CheckCommand& command) {
  if (!command.artefact.empty()) TCC_RETURN_IF_ERROR(ExpectNone(command.compile));
  if (command.json && !command.layers) {
    return UsageError("--json: expected --layers, whose table it is");
  }
  if (command.layers && !command.feed.golden.empty()) {
    return UsageError("--layers compares with the interpreter, --golden with files; expected one");
  }
  Progress progress(command.progress);
  auto warn = [&](const std::string& message) { progress.Warn(message); };
  TCC_ASSIGN_OR_RETURN(Graph graph, ImportModel(command.model, warn));
  TCC_ASSIGN_OR_RETURN(Runnable runnable, RunnableToCheck(command, graph, progress));
  progress.Begin("load");
  runnable.load.threads = ThreadCount(command.threads);
  TCC_ASSIGN_OR_RETURN(Module module,
                       Module::FromArtefact(std::move(runnable.artefact), runnable.load));
  const Metadata& metadata = module.metadata();
  TCC_ASSIGN_OR_RETURN(std::vector<Tensor> inputs, FeedOf(command.feed, metadata));
  if (command.layers) {
    TCC_ASSIGN_OR_RETURN(Notes notes, NotesOf(module.artefact(), FileOf(command)));
    return CompareLayers(module, std::move(graph), notes, inputs, command, progress);
  }
  progress.Begin("run");
  Executor executor(module);
  TCC_ASSIGN_OR_RETURN(std::vector<Tensor> outputs, executor.Run(inputs));

  progress.Begin("reference");
  const Tolerance& tolerance = command.feed.tolerance;
  if (!command.feed.golden.empty()) {
    TCC_ASSIGN_OR_RETURN(std::vector<Tensor> expected,
                         GoldenOutputs(command.feed.golden, outputs.size()));
    return CompareAndPrint(outputs, expected, metadata, tolerance);
  }
  InterpretGraphOptions reference;
  reference.threads = ThreadCount(command.threads);
  reference.progress = [&](int64_t done, int64_t total) {
    progress.Report("reference", done, total);
  };
  return CompareWithReference({std::move(graph), std::move(inputs), std::move(outputs), metadata},
                              tolerance, reference);
}

}  // namespace

Action DeclareCheck(CommandLine& line) {
  auto command = std::make_shared<CheckCommand>();
  AddModelOptions(line, command->model);
  line.AddOption("artefact", command->artefact,
                 "Compiled model; without it the model is compiled now")
      .TypeName("OUT.tcc");
  AddCompileNowOptions(line, command->compile);
  AddFeedOptions(line, command->feed);
  line.AddFlag("--emulate", command->emulate,
               "Run a GPU's kernels on the CPU, from the text that NVRTC would get");
  line.AddFlag("--layers", command->layers,
               "Compare what each kernel writes and name the first that is wrong");
  line.AddFlag("--json", command->json, "Print the comparison of --layers as JSON");
  AddThreadsOption(line, command->threads);
  AddProgressOptions(line, command->progress);
  return [command] { return RunCheck(*command); };
}

}  // namespace tcc
