#include "compiler/kernels.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <map>
#include <mutex>
#include <set>

#include "compiler/runnable_schedule.h"
#include "compiler/schedule_choice.h"
#include "ir/analysis/canonical.h"
#include "ir/analysis/verifier.h"
#include "ir/expr/visitor.h"
#include "ir/simplify/simplify.h"
#include "ir/support/for_each_index.h"
#include "ir/support/stop.h"
#include "ir/text/printer.h"
#include "lower/graph/control_flow.h"
#include "lower/graph/graph_pipeline.h"
#include "lower/ops/node_lowering.h"
#include "lower/pipeline.h"
#include "lower/split_prepare.h"
#include "lower/variants/place_parts.h"
#include "schedule/sketches/flash_attention.h"
#include "schedule/sketches/gpu/mma_product.h"

namespace tcc {
namespace {

std::string SymbolFor(const std::string& name, std::set<std::string>& used) {
  std::string symbol = Identifier(name).substr(0, 100);
  std::string unique = symbol;
  for (int i = 1; !used.insert(unique).second; ++i) unique = symbol + "_" + std::to_string(i);
  return unique;
}

// Those of bodies too, to any depth that the graph's verifier allows.
Status AddTasks(const Graph& graph, const std::vector<Subgraph>& subgraphs,
                const PlacedParts& parts, const KernelOptions& options, double runs,
                KernelSet& set) {
  for (const Subgraph& subgraph : subgraphs) {
    TCC_RETURN_IF_ERROR(StopIfRequested(options.stop));
    const Node& node = graph.nodes[subgraph.nodes[0]];
    switch (subgraph.kind) {
      case SubgraphKind::kView:
      case SubgraphKind::kPart:
        break;
      case SubgraphKind::kKernel: {
        TCC_ASSIGN_OR_RETURN(Task task, BuildTask(graph, subgraph, parts, options.numeric));
        set.tasks.push_back(std::move(task));
        set.runs_of_task.push_back(runs);
        break;
      }
      case SubgraphKind::kLoop:
      case SubgraphKind::kIf: {
        bool loops = subgraph.kind == SubgraphKind::kLoop;
        double inside =
            loops ? runs * static_cast<double>(KnownTripCount(graph, node).value_or(1)) : runs;
        for (size_t b = 0; b < node.bodies.size(); ++b) {
          TCC_RETURN_IF_ERROR(
              AddTasks(node.bodies[b], subgraph.bodies[b], {}, options, inside, set));
        }
        break;
      }
    }
  }
  return OkStatus();
}

// The one with the most results of tensor cores, which are worth a copy of operands.
std::optional<size_t> VariantOnTensorCores(const Task& task, const Target& target) {
  std::optional<size_t> best;
  int64_t most = 0;
  for (size_t v = 0; v < task.variants.size(); ++v) {
    int64_t results = ResultsOnTensorCores(task.variants[v], target);
    if (results > most) best = v;
    most = std::max(most, results);
  }
  return best;
}

// The variant that the default schedule is best for. Threads of a GPU that ask at each tap whether
// it lies inside go separate ways. On a CPU, so few steps of a separable window are worth it to
// keep what is between them.
size_t ChosenVariant(const Task& task, const Target& target) {
  if (auto variant = VariantOnTensorCores(task, target)) return *variant;
  for (size_t v = 0; v < task.variants.size(); ++v) {
    if (HasFlashAttention(task.variants[v], target)) return v;
  }
  return target.kind == TargetKind::kCuda ? task.zero_padded : task.separable;
}

// Equal computations get one kernel. Its parameters' order is that of the task's inputs and
// outputs.
void ShareKernels(const Target& target, KernelSet& set) {
  std::map<std::string, size_t> known;
  std::set<std::string> symbols;
  for (const Task& task : set.tasks) {
    size_t variant = ChosenVariant(task, target);
    auto [found, fresh] = known.emplace(FunctionKey(task.variants[variant]), set.kernels.size());
    if (fresh) {
      KernelStages kernel;
      kernel.symbol = SymbolFor(task.name, symbols);
      kernel.flops = task.flops;
      kernel.moved_bytes = task.moved_bytes;
      kernel.variants = task.variants;
      for (Function& fn : kernel.variants) fn.name = kernel.symbol;
      kernel.schedule.variant = variant;
      set.kernels.push_back(std::move(kernel));
    }
    KernelStages& kernel = set.kernels[found->second];
    kernel.nodes.insert(kernel.nodes.end(), task.nodes.begin(), task.nodes.end());
    set.kernel_of_task.push_back(found->second);
  }
}

StatusOr<int64_t> BytesOf(const Buffer& flat) {
  std::optional<int64_t> count = AsConstant(flat.shape[0]);
  if (!count) {
    return InvalidInput("constant '{}' has {} elements", flat.var->name, Print(flat.shape[0]));
  }
  return ByteCount(flat.dtype(), {{*count}});
}

size_t IndexOf(const std::vector<Buffer>& params, const Var& var) {
  size_t i = 0;
  while (i < params.size() && !(params[i].var == var)) ++i;
  return i;
}

StatusOr<PrepareStages> LowerPrepare(const KernelStages& kernel, const Function& prepare,
                                     const PipelineOptions& options) {
  PrepareStages stages;
  for (size_t i = 0; i + 1 < prepare.params.size(); ++i) {
    stages.constants.push_back(IndexOf(kernel.tensor.params, prepare.params[i].var));
  }
  TCC_ASSIGN_OR_RETURN(stages.lowered, RunPipeline(prepare, options));
  TCC_ASSIGN_OR_RETURN(stages.bytes, BytesOf(stages.lowered.params.back()));
  stages.key = FunctionKey(stages.lowered);
  return stages;
}

// The kernel without what is prepared, and what prepares it, lowered.
Status LowerKernel(KernelStages& kernel, const PipelineOptions& options) {
  TCC_ASSIGN_OR_RETURN(PreparedFunction parts, SplitPrepare(kernel.scheduled));
  for (const Function& prepare : parts.prepare) {
    TCC_ASSIGN_OR_RETURN(kernel.prepare.emplace_back(), LowerPrepare(kernel, prepare, options));
  }
  for (const Buffer& param : parts.main.params) {
    KernelOperand operand{.index = IndexOf(kernel.tensor.params, param.var)};
    for (size_t p = 0; p < parts.prepare.size(); ++p) {
      if (!(parts.prepare[p].params.back().var == param.var)) continue;
      operand = {KernelOperand::Kind::kPrepared, p};
    }
    kernel.operands.push_back(operand);
  }
  TCC_ASSIGN_OR_RETURN(kernel.lowered, RunPipeline(parts.main, options));
  return OkStatus();
}

// A schedule that nothing uses is a mistake of its writer.
Status ExpectKernelsFor(const Schedules& schedules, const KernelSet& set) {
  for (const auto& [name, schedule] : schedules) {
    std::vector<std::string> symbols;
    for (const KernelStages& kernel : set.kernels) symbols.push_back(kernel.symbol);
    if (std::find(symbols.begin(), symbols.end(), name) != symbols.end()) continue;
    return InvalidInput("a schedule is given for '{}'; the kernels are {}", name,
                        fmt::join(symbols, ", "));
  }
  return OkStatus();
}

Status ScheduleKernel(KernelStages& kernel, const KernelOptions& options) {
  TCC_ASSIGN_OR_RETURN(Function scheduled,
                       ReplayFor(options.target, kernel.tensor, kernel.schedule));
  kernel.scheduled = Simplify(scheduled);
  PipelineOptions pipeline;
  pipeline.verify = options.verify;
  pipeline.stop = options.stop;
  kernel.prepare.clear();
  kernel.operands.clear();
  return LowerKernel(kernel, pipeline);
}

// The steps of a schedule that are not taken, by the limits of the target all the same.
Status ExpectLegal(const KernelStages& kernel, const KernelOptions& options) {
  TCC_ASSIGN_OR_RETURN(Decisions decisions,
                       DecideOpenSizes(kernel.tensor, kernel.schedule, options.target));
  return Replay(kernel.tensor, kernel.schedule.trace, decisions).status();
}

// Of a kernel that is given none; false where there is no such choice. A search would start at the
// first one.
bool TakeChoice(KernelStages& kernel, const KernelOptions& options) {
  std::span<const SketchRule> rules = options.sketch_rules;
  if (rules.empty()) rules = SketchRules(options.target);
  Sketch sketch;
  if (kernel.choice == 0) {
    // Without the work for the others.
    sketch = FirstSketch(kernel.tensor, options.target, rules);
  } else {
    std::vector<Sketch> others = OtherSchedules(kernel.tensor, options.target, rules);
    if (kernel.choice > others.size()) return false;
    sketch = std::move(others[kernel.choice - 1]);
  }
  kernel.schedule.trace = std::move(sketch.trace);
  kernel.schedule.decisions = std::move(sketch.start);
  kernel.sketch = std::move(sketch.name);
  return true;
}

}  // namespace

Status FinishKernel(KernelStages& kernel, const KernelOptions& options) {
  auto given = options.schedules.find(kernel.symbol);
  bool is_given = given != options.schedules.end();
  if (is_given) kernel.schedule = given->second;
  if (kernel.schedule.variant >= kernel.variants.size()) {
    return InvalidInput("the schedule is for variant {}; there are {}", kernel.schedule.variant,
                        kernel.variants.size());
  }
  kernel.tensor = kernel.variants[kernel.schedule.variant];
  if (options.verify) TCC_RETURN_IF_ERROR(Verify(kernel.tensor));
  kernel.scheduled = kernel.tensor;
  if (options.target.kind == TargetKind::kReference) {
    for (size_t i = 0; i < kernel.tensor.params.size(); ++i)
      kernel.operands.push_back({.index = i});
    return is_given ? ExpectLegal(kernel, options) : OkStatus();
  }
  TCC_RETURN_IF_ERROR(StopIfRequested(options.stop));
  if (is_given) {
    TCC_ASSIGN_OR_RETURN(kernel.schedule.decisions,
                         DecideOpenSizes(kernel.tensor, kernel.schedule, options.target));
    return ScheduleKernel(kernel, options);
  }
  Status first;
  for (; TakeChoice(kernel, options); ++kernel.choice) {
    Status status = ScheduleKernel(kernel, options);
    if (status.ok() || absl::IsCancelled(status)) return status;
    if (first.ok()) first = status;
  }
  return first;
}

StatusOr<bool> FinishWithNextChoice(KernelStages& kernel, const KernelOptions& options) {
  if (options.schedules.contains(kernel.symbol)) return false;
  ++kernel.choice;
  if (!TakeChoice(kernel, options)) return false;
  Status status = FinishKernel(kernel, options);
  if (absl::IsCancelled(status)) return status;
  return status.ok();
}

StatusOr<KernelSet> MakeKernels(const Graph& graph, const std::vector<Subgraph>& subgraphs,
                                const PlacedParts& parts, const KernelOptions& options) {
  KernelSet set;
  set.parts = parts;
  TCC_RETURN_IF_ERROR(AddTasks(graph, subgraphs, parts, options, 1, set));
  ShareKernels(options.target, set);
  TCC_RETURN_IF_ERROR(ExpectKernelsFor(options.schedules, set));

  std::mutex mutex;
  int64_t done = 0;
  auto finish = [&](size_t i) {
    KernelStages& kernel = set.kernels[i];
    Status status = Annotate(FinishKernel(kernel, options), "kernel '" + kernel.symbol + "'");
    std::lock_guard lock(mutex);
    if (options.progress)
      options.progress("schedule", ++done, static_cast<int64_t>(set.kernels.size()));
    return status;
  };
  TCC_RETURN_IF_ERROR(ForEachIndex(set.kernels.size(), options.threads, finish));
  return set;
}

StatusOr<KernelSet> KernelsOf(Graph graph, const KernelOptions& options) {
  TCC_RETURN_IF_ERROR(RunGraphPasses(graph, options.stop));
  std::vector<Subgraph> subgraphs = FuseGraph(graph);
  PlacedParts parts = PlaceParts(graph, subgraphs, options.target.BufferAlignment());
  return MakeKernels(graph, subgraphs, parts, options);
}

}  // namespace tcc
