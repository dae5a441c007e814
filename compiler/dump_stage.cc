#include "compiler/dump_stage.h"

#include <absl/strings/str_split.h>
#include <fmt/ranges.h>

#include <ranges>
#include <set>

#include "codegen_llvm/assemble_text.h"
#include "compiler/kernels.h"
#include "compiler/make_backend.h"
#include "compiler/schedule_folder.h"
#include "graph/passes/graph_pipeline.h"
#include "ir/analysis/verifier.h"
#include "ir/expr/compare.h"
#include "ir/simplify/simplify.h"
#include "ir/text/parser.h"
#include "ir/text/printer.h"
#include "support/check.h"

namespace tcc {
namespace {

// clang-format off
constexpr StageRow kStages[] = {
    {Stage::kGraph,     "graph",     "nodes after the graph passes"},
    {Stage::kFused,     "fused",     "which nodes are computed together"},
    {Stage::kTensor,    "tensor",    "what each kernel computes, as plain loops"},
    {Stage::kScheduled, "scheduled", "each kernel's trace and the loops that it gives"},
    {Stage::kLowered,   "lowered",   "what the code generator reads"},
    {Stage::kSource,    "source",    "the code generator's text: LLVM IR or CUDA C"},
    {Stage::kPtx,       "ptx",       "NVIDIA's portable assembly"},
    {Stage::kAsm,       "asm",       "assembly; of GPUs as nvdisasm writes it"},
};
// clang-format on

Status Mismatch(const std::string& what) {
  return absl::InternalError(what + " does not come back from its text");
}

Status NoTask(const std::string& name) {
  return UsageError("--task: no task '{}'; --stage fused lists them", name);
}

StatusOr<std::string> DumpGraph(const Graph& graph, const DumpOptions& options) {
  std::string text = Print(graph);
  if (!options.verify) return text;
  TCC_RETURN_IF_ERROR(VerifyGraph(graph));
  TCC_ASSIGN_OR_RETURN(Graph parsed, ParseGraph(text, graph));
  TCC_RETURN_IF_ERROR(VerifyGraph(parsed));
  if (Print(parsed) != text) return Mismatch("the graph");
  return text;
}

std::string NamesOf(const Graph& graph, const std::vector<ValueId>& ids) {
  std::string text;
  for (ValueId id : ids) {
    if (id != kNoValue) text += (text.empty() ? "" : ", ") + graph.value(id).name;
  }
  return text;
}

std::string_view KindText(SubgraphKind kind) {
  switch (kind) {
    case SubgraphKind::kKernel:
      return "kernel";
    case SubgraphKind::kView:
      return "view";
    case SubgraphKind::kPart:
      return "part";
    case SubgraphKind::kLoop:
      return "loop";
    case SubgraphKind::kIf:
      return "if";
  }
  TCC_UNREACHABLE();
}

// Prints "conv1.Relu: kernel (x, w) -> (y)" and a line per node for each subgraph, with bodies
// indented; only the subgraph `task`, at any depth, if one is named.
std::string SubgraphsText(const Graph& graph, const std::vector<Subgraph>& subgraphs,
                          const std::string& task, const std::string& indent) {
  std::string text;
  for (const Subgraph& subgraph : subgraphs) {
    bool wanted = task.empty() || subgraph.name == task;
    if (wanted) {
      text += fmt::format("{}{}: {} ({}) -> ({})\n", indent, subgraph.name, KindText(subgraph.kind),
                          NamesOf(graph, subgraph.inputs), NamesOf(graph, subgraph.outputs));
    }
    for (int n : subgraph.nodes) {
      const Node& node = graph.nodes[n];
      if (wanted) text += fmt::format("{}  {} {}\n", indent, ToString(node.op), node.name);
      for (size_t b = 0; b < node.bodies.size(); ++b) {
        text += SubgraphsText(node.bodies[b], subgraph.bodies[b], wanted ? "" : task,
                              wanted ? indent + "    " : indent);
      }
    }
  }
  return text;
}

// Checks that each node is computed once, after the values that it reads. There is no parser for
// this text.
Status VerifyCover(const Graph& graph, const std::vector<Subgraph>& subgraphs) {
  std::set<ValueId> ready(graph.inputs.begin(), graph.inputs.end());
  std::set<int> seen;
  for (const Subgraph& subgraph : subgraphs) {
    for (int n : subgraph.nodes) {
      const Node& node = graph.nodes[n];
      if (!seen.insert(n).second) return absl::InternalError(node.name + " is in two subgraphs");
      for (ValueId id : node.inputs) {
        if (id == kNoValue || graph.value(id).constant || ready.contains(id)) continue;
        return absl::InternalError(node.name + " runs before what it reads");
      }
      ready.insert(node.outputs.begin(), node.outputs.end());
      for (size_t b = 0; b < node.bodies.size(); ++b) {
        TCC_RETURN_IF_ERROR(VerifyCover(node.bodies[b], subgraph.bodies[b]));
      }
    }
  }
  if (seen.size() != graph.nodes.size()) return absl::InternalError("a node is in no subgraph");
  return OkStatus();
}

Status VerifyText(const std::string& text, const Function& fn) {
  TCC_RETURN_IF_ERROR(Verify(fn));
  TCC_ASSIGN_OR_RETURN(Function parsed, ParseFunction(text));
  TCC_RETURN_IF_ERROR(Verify(parsed));
  if (!AlphaEqual(parsed, fn) || Print(parsed) != text) return Mismatch("'" + fn.name + "'");
  return OkStatus();
}

StatusOr<std::string> FunctionText(const Function& fn, const DumpOptions& options) {
  std::string text = Print(fn);
  if (options.verify) TCC_RETURN_IF_ERROR(Annotate(VerifyText(text, fn), fn.name));
  return text;
}

// Prints the trace as comments before the function.
StatusOr<std::string> ScheduledText(const KernelStages& kernel, const DumpOptions& options) {
  std::string trace = Print(kernel.schedule);
  if (options.verify) {
    TCC_ASSIGN_OR_RETURN(Schedule parsed, ParseSchedule(trace));
    TCC_ASSIGN_OR_RETURN(Function again, Replay(kernel.tensor, parsed.trace, parsed.decisions));
    if (Print(parsed) != trace || !AlphaEqual(Simplify(again), kernel.scheduled)) {
      return Mismatch("the trace of '" + kernel.symbol + "'");
    }
  }
  std::string text;
  for (const auto& line : absl::StrSplit(trace, '\n', absl::SkipEmpty())) {
    text += fmt::format("# {}\n", std::string(line));
  }
  TCC_ASSIGN_OR_RETURN(std::string fn, FunctionText(kernel.scheduled, options));
  return text + fn;
}

std::string_view NameOf(Stage stage) {
  for (const StageRow& row : kStages) {
    if (row.stage == stage) return row.name;
  }
  TCC_UNREACHABLE();
}

bool IsStageOf(const Target& target, Stage stage) {
  switch (target.kind) {
    case TargetKind::kCpu:
      return stage != Stage::kPtx;
    case TargetKind::kGpu:
      return target.api == GpuApi::kCuda || stage <= Stage::kSource;
    case TargetKind::kReference:
      return stage <= Stage::kTensor;
  }
  TCC_UNREACHABLE();
}

Status ExpectStageOf(const Target& target, Stage stage) {
  if (IsStageOf(target, stage)) return OkStatus();
  if (target.kind == TargetKind::kReference)
    return UsageError("target 'reference' interprets the stage 'tensor'; it has none after that");
  std::string names;
  for (const StageRow& row : kStages) {
    if (IsStageOf(target, row.stage)) names += (names.empty() ? "" : ", ") + std::string(row.name);
  }
  return UsageError("--stage {}: target '{}' has no such stage; it has {}", NameOf(stage),
                    target.name, names);
}

// Checks that the text compiles. NVRTC itself names the GPU kernel at fault.
Status VerifyCode(Backend& backend, const LoweredModule& module, const std::string& text,
                  const DumpOptions& options) {
  if (options.target.kind == TargetKind::kGpu)
    return backend.Compile(module, {.threads = options.threads}).status();
  std::string stage(NameOf(options.stage));
  return Annotate(AssembleText(text, stage, options.target), module.kernels[0].name);
}

StatusOr<std::string> BackendText(const LoweredModule& module, const DumpOptions& options) {
  TCC_ASSIGN_OR_RETURN(std::unique_ptr<Backend> backend, MakeBackend(options.target));
  TCC_ASSIGN_OR_RETURN(std::string text, backend->Emit(module, std::string(NameOf(options.stage))));
  if (options.verify) TCC_RETURN_IF_ERROR(VerifyCode(*backend, module, text, options));
  return text;
}

StatusOr<std::string> KernelText(const KernelStages& kernel, const DumpOptions& options) {
  switch (options.stage) {
    case Stage::kTensor:
      return FunctionText(kernel.tensor, options);
    case Stage::kScheduled:
      return ScheduledText(kernel, options);
    case Stage::kLowered:
      return FunctionText(kernel.lowered, options);
    case Stage::kSource:
    case Stage::kPtx:
    case Stage::kAsm:
      return BackendText({.kernels = {kernel.lowered}}, options);
    case Stage::kGraph:
    case Stage::kFused:
      break;
  }
  TCC_UNREACHABLE();
}

// Returns the text of the kernels that `options` ask for.
StatusOr<std::string> KernelsText(const std::vector<const KernelStages*>& kernels,
                                  const DumpOptions& options) {
  if (options.target.kind == TargetKind::kGpu && options.stage > Stage::kLowered) {
    // One program for all kernels, or each would repeat the common prologue.
    LoweredModule module;
    for (const KernelStages* kernel : kernels) module.kernels.push_back(kernel->lowered);
    return BackendText(module, options);
  }
  std::string text;
  for (const KernelStages* kernel : kernels) {
    TCC_ASSIGN_OR_RETURN(std::string one, KernelText(*kernel, options));
    if (one.empty()) return absl::InternalError(kernel->symbol + " has no text");
    text += (text.empty() ? "" : "\n") + one;
  }
  return text;
}

StatusOr<std::string> DumpKernels(const FusedGraph& fused, const DumpOptions& options) {
  CompileOptions compile{.target = options.target,
                         .threads = options.threads,
                         .verify = options.verify,
                         .progress = options.progress,
                         .schedules = options.schedules,
                         .numeric = options.numeric,
                         .winograd = options.winograd};
  TCC_ASSIGN_OR_RETURN(KernelSet kernels, MakeKernels({&fused, 1}, compile));
  if (!options.schedule_folder.empty()) {
    TCC_RETURN_IF_ERROR(WriteSchedules(options.schedule_folder, kernels));
  }
  std::vector<bool> wanted(kernels.kernels.size(), options.task.empty());
  for (size_t t = 0; t < kernels.tasks.size(); ++t) {
    size_t k = kernels.kernel_of_task[t];
    if (options.task == kernels.tasks[t].name || options.task == kernels.kernels[k].symbol) {
      wanted[k] = true;
    }
  }
  std::vector<const KernelStages*> dumped;
  for (size_t k = 0; k < kernels.kernels.size(); ++k) {
    if (wanted[k]) dumped.push_back(&kernels.kernels[k]);
  }
  if (dumped.empty() && !options.task.empty()) return NoTask(options.task);
  if (dumped.empty()) return "";
  return KernelsText(dumped, options);
}

StatusOr<std::string> DumpFused(const Graph& graph, const std::vector<Subgraph>& subgraphs,
                                const DumpOptions& options) {
  if (options.verify) TCC_RETURN_IF_ERROR(VerifyCover(graph, subgraphs));
  std::string text = SubgraphsText(graph, subgraphs, options.task, "");
  if (text.empty() && !options.task.empty()) return NoTask(options.task);
  return text;
}

}  // namespace

std::span<const StageRow> Stages() {
  return kStages;
}

StatusOr<Stage> FindStage(std::string_view name) {
  const StageRow* row = std::ranges::find(kStages, name, &StageRow::name);
  if (row != std::end(kStages)) return row->stage;
  return UsageError("--stage: expected one of {}; got '{}'",
                    fmt::join(std::views::transform(kStages, &StageRow::name), ", "), name);
}

StatusOr<std::string> DumpStage(Graph graph, const DumpOptions& options) {
  TCC_RETURN_IF_ERROR(ExpectStageOf(options.target, options.stage));
  TCC_RETURN_IF_ERROR(RunGraphPasses(graph, options.target.kind));
  if (options.stage == Stage::kGraph) return DumpGraph(graph, options);
  const FusedGraph fused = FuseSubgraphs(std::move(graph), options.target, options.numeric);
  if (options.stage == Stage::kFused) return DumpFused(fused.graph, fused.subgraphs, options);
  return DumpKernels(fused, options);
}

}  // namespace tcc
