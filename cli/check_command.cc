#include <fmt/ranges.h>

#include <algorithm>
#include <functional>
#include <memory>

#include "cli/command.h"
#include "cli/compile_now.h"
#include "cli/feed.h"
#include "cli/layer_report.h"
#include "cli/model_options.h"
#include "cli/numeric_option.h"
#include "cli/progress.h"
#include "cli/threads_option.h"
#include "compiler/check/check_sizes.h"
#include "compiler/check/random_inputs.h"
#include "compiler/check/rounding_allowance.h"
#include "compiler/devices/emulated_device.h"
#include "graph/passes/graph_pipeline.h"
#include "graph/passes/infer_shapes.h"
#include "graph/variants/interpret_graph.h"
#include "runtime/executor/binding.h"
#include "runtime/executor/executor.h"
#include "schedule/sketches/flash_attention.h"

namespace tcc {
namespace {

struct CheckCommand {
  ModelOptions model;
  std::vector<std::string> sizes;
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

// A compiled model, the way to run it, and what to compare it with: its model, at each of `sizes`.
struct Subject {
  Artefact artefact;
  LoadOptions load;
  SizedModel model;
  std::vector<std::vector<int64_t>> sizes;  // empty where the artefact has none
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

// Leaves out the drawn sizes that the model itself does not take, say odd widths of an image whose
// halves have to fit. Error: it takes none.
Status LeaveOutRefused(Subject& subject, Progress& progress) {
  for (size_t i = 0; i < subject.sizes.size();) {
    Graph graph = subject.model.graphs[i];
    Status taken = InferShapes(graph);
    if (taken.ok()) {
      ++i;
      continue;
    }
    const std::string at = "at " + SizeText(subject.artefact.metadata, subject.sizes[i]);
    if (subject.sizes.size() == 1) return Annotate(taken, at);
    progress.Tell(fmt::format("{}: left out, the model does not take it: {}", at, Message(taken)));
    subject.sizes.erase(subject.sizes.begin() + static_cast<ptrdiff_t>(i));
    subject.model.graphs.erase(subject.model.graphs.begin() + static_cast<ptrdiff_t>(i));
  }
  return OkStatus();
}

// Imports the model at the sizes that its artefact is checked at: that of given inputs, else
// SizesToCheck and what --at lists, which has kernels of its own.
Status ImportAtCheckedSizes(const CheckCommand& command,
                            std::function<void(const std::string&)> warn, Subject& subject,
                            Progress& progress) {
  const Metadata& metadata = subject.artefact.metadata;
  TCC_ASSIGN_OR_RETURN(ImportOptions options, ToImportOptions(command.model));
  options.warn = std::move(warn);
  const bool is_free = !metadata.shape_variables.empty() && metadata.sizes.empty();
  if (is_free) options.ranges.clear();
  TCC_ASSIGN_OR_RETURN(subject.sizes, SizesToCheck(metadata, options.dims));
  TCC_ASSIGN_OR_RETURN(std::vector<DimSizes> own_kernels, ParseSizes(command.sizes));
  for (const DimSizes& listed : own_kernels) {
    TCC_ASSIGN_OR_RETURN(std::vector<int64_t> size, SizeWith(metadata, listed));
    if (std::ranges::find(subject.sizes, size) == subject.sizes.end()) {
      subject.sizes.push_back(std::move(size));
    }
  }
  if (is_free && IsFed(command.feed)) {
    TCC_ASSIGN_OR_RETURN(std::vector<Tensor> inputs, FeedOf(command.feed, metadata));
    TCC_ASSIGN_OR_RETURN(std::vector<int64_t> size, BindInputs(metadata, inputs));
    if (!Agrees(metadata, size, options.dims)) {
      return UsageError("--dim: the inputs have {}", SizeText(metadata, size));
    }
    subject.sizes = {size};
  }
  std::vector<DimSizes> at = ToListed(metadata, subject.sizes, options.dims);
  auto import_model = [&](const ImportOptions& sized) {
    return ImportOnnx(command.model.path, sized);
  };
  TCC_ASSIGN_OR_RETURN(subject.model, ImportAtSizes(import_model, std::move(options), at));
  return is_free && subject.sizes.size() > 1 ? LeaveOutRefused(subject, progress) : OkStatus();
}

StatusOr<Subject> ReadSubject(const CheckCommand& command, Execution execution,
                              Progress& progress) {
  if (!command.sizes.empty()) return UsageError("--at: a compiled model has its sizes already");
  Subject subject;
  TCC_ASSIGN_OR_RETURN(subject.artefact, ReadArtefact(command.artefact));
  TCC_ASSIGN_OR_RETURN(Target target, FindTarget(subject.artefact.target));
  if (command.emulate && target.kind == TargetKind::kGpu) {
    return UsageError("--emulate wants --target sm_..., not an artefact: that holds no CUDA text");
  }
  TCC_ASSIGN_OR_RETURN(subject.load, LoadOptionsFor(target, execution));
  auto warn = [&](const std::string& message) { progress.Warn(message); };
  TCC_RETURN_IF_ERROR(ImportAtCheckedSizes(command, warn, subject, progress));
  TCC_RETURN_IF_ERROR(
      Annotate(CheckInputs(subject.artefact.metadata, subject.model.graphs[0]), command.artefact));
  return subject;
}

StatusOr<Subject> CompileSubject(const CheckCommand& command, Execution execution,
                                 Progress& progress) {
  auto warn = [&](const std::string& message) { progress.Warn(message); };
  Subject subject;
  TCC_ASSIGN_OR_RETURN(std::vector<DimSizes> at, ParseSizes(command.sizes));
  TCC_ASSIGN_OR_RETURN(subject.model, ImportModelAt(command.model, at, warn));
  TCC_ASSIGN_OR_RETURN(Target target, TargetOf(command.compile));
  TCC_ASSIGN_OR_RETURN(subject.load, LoadOptionsFor(target, execution));
  GpuCode gpu_code = command.emulate ? GpuCode::kCudaText : GpuCode::kCubin;
  TCC_ASSIGN_OR_RETURN(
      subject.artefact,
      CompileNow(subject.model, command.compile, ThreadCount(command.threads), gpu_code, progress));
  const Metadata& metadata = subject.artefact.metadata;
  subject.sizes = metadata.sizes;
  if (metadata.shape_variables.empty() || !metadata.sizes.empty()) return subject;
  TCC_RETURN_IF_ERROR(ImportAtCheckedSizes(command, {}, subject, progress));
  return subject;
}

// A run to check: inputs, and the model at their size.
struct CheckedRun {
  Graph graph;
  std::vector<Tensor> inputs;
  std::string title;  // the size; "" where there is one
};

// Returns the runs: one at the size of given inputs, else one with random inputs at each size.
StatusOr<std::vector<CheckedRun>> RunsOf(const CheckCommand& command, const Metadata& metadata,
                                         std::vector<Graph> graphs,
                                         const std::vector<std::vector<int64_t>>& sizes) {
  const FeedOptions& feed = command.feed;
  std::vector<CheckedRun> runs;
  if (sizes.empty()) {
    TCC_ASSIGN_OR_RETURN(std::vector<Tensor> inputs, FeedOf(feed, metadata));
    runs.push_back({std::move(graphs[0]), std::move(inputs), ""});
    return runs;
  }
  if (IsFed(feed)) {
    TCC_ASSIGN_OR_RETURN(std::vector<Tensor> inputs, FeedOf(feed, metadata));
    TCC_ASSIGN_OR_RETURN(std::vector<int64_t> size, BindInputs(metadata, inputs));
    auto found = std::ranges::find(sizes, size);
    if (found == sizes.end()) {
      return UsageError("--dim: the inputs have {}", SizeText(metadata, size));
    }
    runs.push_back(
        {std::move(graphs[static_cast<size_t>(found - sizes.begin())]), std::move(inputs), ""});
    return runs;
  }
  for (size_t i = 0; i < sizes.size(); ++i) {
    TCC_ASSIGN_OR_RETURN(std::vector<Tensor> inputs,
                         RandomInputs(metadata, feed.random_seed, sizes[i]));
    runs.push_back({std::move(graphs[i]), std::move(inputs), SizeText(metadata, sizes[i])});
  }
  return runs;
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

Status CheckRun(const CheckCommand& command, const Module& module, CheckedRun run,
                Progress& progress) {
  const Metadata& metadata = module.metadata();
  if (command.layers) {
    TCC_ASSIGN_OR_RETURN(Notes notes, NotesOf(module.artefact(), FileOf(command)));
    return CompareLayers(module, std::move(run.graph), notes, run.inputs, command, progress);
  }
  progress.Begin("run");
  Executor executor(module);
  TCC_ASSIGN_OR_RETURN(std::vector<Tensor> outputs, executor.Run(run.inputs));

  progress.Begin("reference");
  const Tolerance& tolerance = command.feed.tolerance;
  if (!command.feed.golden.empty()) {
    TCC_ASSIGN_OR_RETURN(std::vector<Tensor> expected,
                         GoldenOutputs(command.feed.golden, outputs.size()));
    return CompareAndPrint(outputs, expected, metadata, tolerance);
  }
  TCC_ASSIGN_OR_RETURN(Target target, FindTarget(module.artefact().target));
  InterpretGraphOptions reference;
  reference.threads = ThreadCount(command.threads);
  reference.rounds_attention = HasMmaForAttention(target);
  reference.progress = [&](int64_t done, int64_t total) {
    progress.Report("reference", done, total);
  };
  return CompareWithReference(
      {std::move(run.graph), std::move(run.inputs), std::move(outputs), metadata}, tolerance,
      reference);
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
  Execution execution = command.emulate ? Execution::kEmulator : Execution::kDevice;
  TCC_ASSIGN_OR_RETURN(Subject subject, command.artefact.empty()
                                            ? CompileSubject(command, execution, progress)
                                            : ReadSubject(command, execution, progress));
  progress.Begin("load");
  subject.load.threads = ThreadCount(command.threads);
  TCC_ASSIGN_OR_RETURN(Module module,
                       Module::FromArtefact(std::move(subject.artefact), subject.load));
  TCC_ASSIGN_OR_RETURN(
      std::vector<CheckedRun> runs,
      RunsOf(command, module.metadata(), std::move(subject.model.graphs), subject.sizes));
  if (command.json && runs.size() > 1) {
    return UsageError("--json: there are {} sizes; expected --dim to name one", runs.size());
  }
  for (CheckedRun& run : runs) {
    const std::string title = run.title;
    if (runs.size() > 1) {
      progress.Clear();
      fmt::print("at {}\n", title);
    }
    Status status = CheckRun(command, module, std::move(run), progress);
    if (!status.ok()) return title.empty() ? status : Annotate(status, "at " + title);
  }
  return OkStatus();
}

}  // namespace

Action DeclareCheck(CommandLine& line) {
  auto command = std::make_shared<CheckCommand>();
  AddModelOptions(line, command->model);
  AddSizesOption(line, command->sizes);
  line.AddOption("artefact", command->artefact,
                 "Compiled model; without it the model is compiled now")
      .TypeName("OUT.tcc");
  AddCompileNowOptions(line, command->compile);
  AddFeedOptions(line, command->feed);
  line.AddFlag(
      "--emulate", command->emulate,
      "Run a GPU's kernels on the CPU, from the text that NVRTC would get; a foreign CPU's "
      "by qemu");
  line.AddFlag("--layers", command->layers,
               "Compare what each kernel writes and name the first that is wrong");
  line.AddFlag("--json", command->json, "Print the comparison of --layers as JSON");
  AddThreadsOption(line, command->threads);
  AddProgressOptions(line, command->progress);
  return [command] { return RunCheck(*command); };
}

}  // namespace tcc
