#include "compiler/kernels.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <map>
#include <mutex>
#include <set>

#include "autodiff_features/faster_start.h"
#include "graph/ops/node_lowering.h"
#include "graph/passes/control_flow.h"
#include "graph/passes/graph_pipeline.h"
#include "graph/variants/alias_parts.h"
#include "graph/variants/narrow_values.h"
#include "graph/variants/variants.h"
#include "ir/analysis/canonical.h"
#include "ir/analysis/canonical_names.h"
#include "ir/analysis/cross_thread.h"
#include "ir/analysis/verifier.h"
#include "ir/expr/evaluate.h"
#include "ir/expr/visitor.h"
#include "schedule/sketches/flash_attention.h"
#include "schedule/sketches/gpu/mma_product.h"
#include "schedule/sketches/schedule_choice.h"
#include "schedule/sketches/vdla/vdla_rules.h"
#include "schedule/space/free_schedule.h"
#include "schedule/space/runnable_schedule.h"
#include "support/stop.h"
#include "support/threads.h"

namespace tcc {
namespace {

std::string SymbolFor(const std::string& name, std::set<std::string>& used) {
  std::string symbol = Identifier(name).substr(0, 100);
  std::string unique = symbol;
  for (int i = 1; !used.insert(unique).second; ++i) unique = symbol + "_" + std::to_string(i);
  return unique;
}

// Returns the options but for Winograd's transforms. Attention's core is rounded where tensor cores
// multiply tiles of it.
NumericOptions NumericOptionsOf(const Target& target, NumericMode mode) {
  return {.mode = mode, .rounds_attention = HasMmaForAttention(target)};
}

// Adds the tasks of the subgraphs, and of bodies to any depth that the graph's verifier allows.
Status AddTasks(const Graph& graph, const std::vector<Subgraph>& subgraphs,
                const ValueStorage& storage, const CompileOptions& options, double runs,
                KernelSet& set) {
  for (const Subgraph& subgraph : subgraphs) {
    TCC_RETURN_IF_ERROR(StopIfRequested(options.stop));
    const Node& node = graph.nodes[subgraph.nodes[0]];
    switch (subgraph.kind) {
      case SubgraphKind::kView:
      case SubgraphKind::kPart:
        break;
      case SubgraphKind::kKernel: {
        NumericOptions numeric = NumericOptionsOf(options.target, options.numeric);
        numeric.winograd = options.winograd;
        TCC_ASSIGN_OR_RETURN(Task task, BuildTask(graph, subgraph, storage, numeric));
        set.tasks.push_back(std::move(task));
        set.runs_of_task.push_back(runs);
        break;
      }
      case SubgraphKind::kLoop:
      case SubgraphKind::kIf: {
        bool loops = subgraph.kind == SubgraphKind::kLoop;
        std::optional<Expr> trips = loops ? TripCount(graph, node) : std::nullopt;
        double inside = trips ? runs * static_cast<double>(AtUsual(*trips).value_or(1)) : runs;
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

// Returns the variant with the most results from tensor cores, which are worth a copy of operands;
// nullptr if none has any.
const Variant* VariantOnTensorCores(const Task& task, const Target& target) {
  const Variant* best = nullptr;
  int64_t most = 0;
  for (const Variant& variant : task.variants) {
    if (variant.row && variant.row->name == "merged_axes") continue;  // no device has timed it yet
    int64_t results = ResultsOnTensorCores(TwinOf(variant.fn), target);
    if (results > most) best = &variant;
    most = std::max(most, results);
  }
  return best;
}

// The variant of attention for tensor cores.
constexpr std::string_view kTiles = "attention_in_tiles";

// The variant of products for an accelerator.
constexpr std::string_view kOffloaded = "accelerator_blocks";

// Returns whether the variant is expected to take less time than those behind its row.
bool Gains(const Task& task, const Variant& variant, const Target& target) {
  if (!variant.saves_time || !variant.row->gains(target)) return false;
  if (variant.row->name == kOffloaded) return HasVdlaTile(TwinOf(variant.fn));
  const int pairs = PlanePairsOf(variant.fn);
  if (pairs == 0) return true;
  auto saves_time = [&](std::string_view name) {
    const Variant* transformed = FindVariant(task, name);
    return transformed && transformed->saves_time;
  };
  const ByteProduct bytes = {
      .is_transformed = saves_time("winograd") || saves_time("wide_winograd"),
      .has_one_row = HasOneRowOfPlanes(variant.fn)};
  return pairs <= MostPlanePairs(target, bytes);
}

// Returns the variant for which the default schedule is best.
const Variant& ChosenVariant(const Task& task, const Target& target) {
  const Variant* tiles = FindVariant(task, kTiles);
  if (tiles && HasMmaAttention(TwinOf(tiles->fn), target)) return *tiles;
  const Variant* one_pass = FindVariant(task, "one_pass_attention");
  if (one_pass && HasFlashAttention(TwinOf(one_pass->fn), target)) return *one_pass;
  if (const Variant* variant = VariantOnTensorCores(task, target)) return *variant;
  for (const VariantRow& row : VariantRows()) {
    const Variant* variant = FindVariant(task, row.name);
    if (variant && Gains(task, *variant, target)) return *variant;
  }
  return task.variants[0];
}

// Makes an unscheduled kernel of the variants that the target may have a use for.
KernelStages KernelOf(const Task& task, const Variant& chosen, const Target& target,
                      const std::string& symbol) {
  KernelStages kernel;
  kernel.symbol = symbol;
  kernel.inputs = task.inputs.size();
  kernel.flops = task.flops;
  kernel.moved_bytes = task.moved_bytes;
  const bool is_offloaded = chosen.row && chosen.row->name == kOffloaded;
  for (const Variant& variant : task.variants) {
    // A product for the accelerator is not given to the CPU: their times do not compare.
    if (is_offloaded && &variant != &chosen) continue;
    if (&variant == &chosen) {
      kernel.first_variant = kernel.variants.size();
    } else if (variant.row && (!variant.row->needs(target) || variant.row->name == kTiles)) {
      continue;  // tiles have a use where attention's core is scheduled whole
    }
    kernel.variants.push_back(variant.fn);
    kernel.variants.back().name = symbol;
    NoteWarps(kernel.variants.back(), target);
  }
  kernel.schedule.variant = kernel.first_variant;
  return kernel;
}

bool Contains(const std::vector<std::string>& names, const std::string& name) {
  return std::ranges::find(names, name) != names.end();
}

// Returns the key by which tasks share a kernel, whose default variant is `chosen`. Another variant
// may rely on how the sizes of a task depend on each other, so tasks with sizes must agree on all;
// bit planes rely on the values of operands.
std::string SharingKey(const Task& task, const Variant& chosen) {
  std::string key = FunctionKey(chosen.fn);
  if (const Variant* planes = FindVariant(task, "bit_planes")) key += FunctionKey(planes->fn);
  if (task.shape_arguments.empty()) return key;
  for (const Variant& variant : task.variants) key += FunctionKey(variant.fn);
  return key;
}

// Gives equal computations one kernel. Its parameters are in the order of the task's inputs and
// outputs, its sizes in that of the task's shape arguments.
class KernelSharing {
 public:
  // `first_graph_tasks` are the tasks of the first graph.
  KernelSharing(const Target& target, size_t first_graph_tasks, KernelSet& set)
      : target_(target), first_graph_tasks_(first_graph_tasks), set_(set) {}

  void Run() {
    for (const Task& task : set_.tasks) {
      const size_t kernel = KernelFor(task);
      auto& zero_cases = set_.kernels_of_zero_cases.emplace_back();
      for (const Task& zero : task.zero_cases) {
        zero_cases.push_back(zero.variants.empty() ? std::nullopt : std::optional(KernelFor(zero)));
      }
      set_.kernel_of_task.push_back(kernel);
    }
  }

 private:
  size_t KernelFor(const Task& task) {
    const Variant& variant = ChosenVariant(task, target_);
    auto [found, fresh] = known_.emplace(SharingKey(task, variant), set_.kernels.size());
    if (fresh) {
      set_.kernels.push_back(KernelOf(task, variant, target_, SymbolFor(task.name, symbols_)));
    }
    KernelStages& kernel = set_.kernels[found->second];
    for (const std::string& node : task.nodes) {
      // The same node of another graph is told once.
      if (set_.kernel_of_task.size() >= first_graph_tasks_ && Contains(kernel.nodes, node))
        continue;
      kernel.nodes.push_back(node);
    }
    return found->second;
  }

  const Target& target_;
  size_t first_graph_tasks_;
  KernelSet& set_;
  std::map<std::string, size_t> known_;
  std::set<std::string> symbols_;
};

// Checks that every schedule has a kernel, since an unused schedule is a mistake of its writer.
Status ExpectKernelsFor(const Schedules& schedules, const KernelSet& set) {
  for (const auto& [name, schedule] : schedules) {
    std::vector<std::string> symbols;
    for (const KernelStages& kernel : set.kernels) symbols.push_back(kernel.symbol);
    if (std::ranges::find(symbols, name) != symbols.end()) continue;
    return InvalidInput("a schedule is given for '{}'; the kernels are {}", name,
                        fmt::join(symbols, ", "));
  }
  return OkStatus();
}

Status ScheduleKernel(KernelStages& kernel, const CompileOptions& options) {
  PipelineOptions pipeline;
  pipeline.verify = options.verify;
  pipeline.stop = options.stop;
  TCC_ASSIGN_OR_RETURN(Function scheduled,
                       ReplayFree(kernel.tensor, kernel.schedule, options.target));
  TCC_ASSIGN_OR_RETURN(LoweredKernel lowered, LowerKernel(scheduled, pipeline));
  kernel.scheduled = std::move(lowered.scheduled);
  kernel.lowered = std::move(lowered.lowered);
  kernel.operands = std::move(lowered.operands);
  kernel.prepare = std::move(lowered.prepare);
  return OkStatus();
}

// Checks the steps of a schedule that is not applied, by the limits of the target all the same.
Status ExpectLegal(const KernelStages& kernel, const CompileOptions& options) {
  Schedule decided = kernel.schedule;
  TCC_ASSIGN_OR_RETURN(decided.decisions,
                       DecideOpenSizes(TwinOf(kernel.tensor), kernel.schedule, options.target));
  return Replay(kernel.tensor, FreeSchedule(kernel.tensor, decided).trace, decided.decisions)
      .status();
}

std::span<const SketchRule> RulesOf(const CompileOptions& options) {
  if (!options.sketch_rules.empty()) return options.sketch_rules;
  return SketchRules(options.target);
}

// Returns the choices from 1 on. With free sizes, what a rule makes may not fit, while the rules
// after it would make more of the kernel than the last one does. The very last one on a CPU has no
// steps, and always fits: the last rule's steps may ask that a size is not 0.
std::vector<Sketch> LaterChoices(const Function& tensor, const Target& target,
                                 std::span<const SketchRule> rules) {
  const Function twin = TwinOf(tensor);
  std::vector<Sketch> choices = OtherSchedules(twin, target, rules);
  if (!HasFreeShapes(tensor)) return choices;
  for (size_t first = 1; first < rules.size(); ++first) {
    choices.insert(choices.end() - 1, FirstSketch(twin, target, rules.subspan(first)));
  }
  if (target.kind == TargetKind::kCpu) choices.emplace_back().name = "serial";
  return choices;
}

// Sets the kernel's schedule to its choice. Returns false if there is no such choice. A search
// would start at choice 0.
bool TakeChoice(KernelStages& kernel, const CompileOptions& options) {
  std::span<const SketchRule> rules = RulesOf(options);
  Sketch sketch;
  if (kernel.choice == 0) {
    // Avoids making the other sketches.
    sketch = FirstSketch(TwinOf(kernel.tensor), options.target, rules);
  } else {
    std::vector<Sketch> others = LaterChoices(kernel.tensor, options.target, rules);
    if (kernel.choice > others.size()) return false;
    sketch = std::move(others[kernel.choice - 1]);
  }
  kernel.schedule.trace = std::move(sketch.trace);
  kernel.schedule.decisions = std::move(sketch.start);
  kernel.sketch = std::move(sketch.name);
  return true;
}

// Schedules the kernel by its choice or the first later one that the target and the kernel's free
// sizes allow. Error: the first failure; there is no such choice.
Status ScheduleByChoice(KernelStages& kernel, const CompileOptions& options) {
  std::optional<Status> first;
  for (; TakeChoice(kernel, options); ++kernel.choice) {
    Status status = ScheduleKernel(kernel, options);
    if (status.ok() || absl::IsCancelled(status)) return status;
    if (kernel.choice == 0 && HasFreeShapes(kernel.tensor)) kernel.misfit = Message(status);
    if (!first) first = status;
  }
  return first.value_or(InvalidInput("there is no other schedule"));
}

void TakeDefaultVariant(KernelStages& kernel) {
  kernel.schedule = {.trace = {}, .decisions = {}, .variant = kernel.first_variant};
  kernel.tensor = kernel.variants[kernel.first_variant];
  kernel.tuned = kernel.expected = false;
}

// Returns false where no start is expected to be faster than choice 0.
StatusOr<bool> TryExpected(KernelStages& kernel, const CompileOptions& options) {
  if (!TakesFasterStarts(options.target)) return false;
  KernelWork twins = kernel;
  for (Function& variant : twins.variants) variant = TwinOf(variant);
  std::vector<Sketch> sketches = AllSketches(twins, options.target, RulesOf(options));
  const size_t taken = FasterStart(twins, sketches, options.target);
  if (taken == 0) return false;
  Sketch& sketch = sketches[taken];
  kernel.tensor = kernel.variants[sketch.variant];
  kernel.schedule = {.trace = std::move(sketch.trace),
                     .decisions = std::move(sketch.start),
                     .variant = sketch.variant};
  kernel.sketch = std::move(sketch.name);
  kernel.expected = true;
  Status status = ScheduleKernel(kernel, options);
  if (status.ok() || absl::IsCancelled(status)) return status.ok() ? StatusOr<bool>(true) : status;
  TakeDefaultVariant(kernel);
  return false;
}

// Schedules the kernel as its workload was tuned. The tensor function gets canonical names, which
// the trace uses.
Status ScheduleAsTuned(KernelStages& kernel, const TunedSchedule& tuned,
                       const CompileOptions& options) {
  auto variant = std::ranges::find(kernel.variants, tuned.variant_key,
                                   [](const Function& fn) { return FunctionKey(TwinOf(fn)); });
  if (variant == kernel.variants.end())
    return InvalidInput("it is for a variant that is not there");
  kernel.tensor = WithCanonicalNames(*variant);
  kernel.tensor.name = kernel.symbol;
  kernel.schedule = tuned.schedule;
  kernel.schedule.variant = static_cast<size_t>(variant - kernel.variants.begin());
  kernel.sketch = tuned.rules;
  kernel.tuned = true;
  return ScheduleKernel(kernel, options);
}

// Returns false where the kernel's workload was not tuned, or the tuned schedule no longer applies.
StatusOr<bool> TryTuned(KernelStages& kernel, const CompileOptions& options) {
  if (options.tuned.empty()) return false;
  auto tuned = options.tuned.find(WorkloadKeyOf(kernel));
  if (tuned == options.tuned.end()) return false;
  Status status = ScheduleAsTuned(kernel, tuned->second, options);
  if (absl::IsCancelled(status)) return status;
  if (status.ok()) return true;
  if (options.warn) {
    options.warn(
        fmt::format("kernel '{}': its tuned schedule no longer applies ({}); it gets its "
                    "default one",
                    kernel.symbol, Message(status)));
  }
  TakeDefaultVariant(kernel);
  return false;
}

// Warns of kernels that do not have the schedule of their usual sizes.
void WarnOfMisfits(const KernelSet& set, const CompileOptions& options) {
  if (!options.warn) return;
  for (const KernelStages& kernel : set.kernels) {
    if (kernel.misfit.empty()) continue;
    options.warn(
        fmt::format("kernel '{}': the schedule of its usual sizes does not fit all others "
                    "({}); it gets a plainer one",
                    kernel.symbol, kernel.misfit));
  }
}

}  // namespace

Status FinishKernel(KernelStages& kernel, const CompileOptions& options) {
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
                         DecideOpenSizes(TwinOf(kernel.tensor), kernel.schedule, options.target));
    return ScheduleKernel(kernel, options);
  }
  TCC_ASSIGN_OR_RETURN(bool tuned, TryTuned(kernel, options));
  if (tuned) return OkStatus();
  TCC_ASSIGN_OR_RETURN(bool expected, TryExpected(kernel, options));
  return expected ? OkStatus() : ScheduleByChoice(kernel, options);
}

StatusOr<bool> FinishWithNextChoice(KernelStages& kernel, const CompileOptions& options) {
  if (options.schedules.contains(kernel.symbol)) return false;
  if (kernel.tuned || kernel.expected) {
    TakeDefaultVariant(kernel);
  } else {
    ++kernel.choice;
  }
  Status status = ScheduleByChoice(kernel, options);
  if (absl::IsCancelled(status)) return status;
  return status.ok();
}

namespace {

// Returns whether measurements compare the variant with the one that is scheduled without a search.
// Bit planes are right for the integers of few bits that this model has, others for all, so random
// operands suit only one of both.
bool IsMeasuredWith(const KernelStages& kernel, const Function& variant) {
  const auto has_planes = [](const Function& fn) { return PlanePairsOf(fn) > 0; };
  return has_planes(variant) == has_planes(kernel.variants[kernel.first_variant]);
}

}  // namespace

std::string WorkloadKeyOf(const KernelStages& kernel) {
  const auto first = std::ranges::find_if(
      kernel.variants, [&](const Function& variant) { return IsMeasuredWith(kernel, variant); });
  return FunctionKey(TwinOf(*first));
}

Workload WorkloadOf(const KernelStages& kernel) {
  Workload workload;
  static_cast<KernelWork&>(workload) = kernel;
  workload.name = kernel.symbol;
  workload.variants.clear();
  for (size_t v = 0; v < kernel.variants.size(); ++v) {
    if (!IsMeasuredWith(kernel, kernel.variants[v])) continue;
    if (v == kernel.first_variant) workload.first_variant = workload.variants.size();
    Function variant = WithCanonicalNames(TwinOf(kernel.variants[v]));
    variant.name = "kernel";
    workload.variant_keys.push_back(FunctionKey(variant));
    workload.variants.push_back(std::move(variant));
  }
  workload.key = workload.variant_keys[0];
  return workload;
}

FusedGraph FuseSubgraphs(Graph graph, const Target& target, NumericMode numeric) {
  std::vector<Subgraph> subgraphs = FuseGraph(graph, FusionFor(target));
  ValueStorage storage;
  // A CPU's kernels round operands where they pack or widen them; the interpreter's results would
  // not stay the same, as it rounds to f32 only where an element is stored.
  if (target.kind == TargetKind::kGpu) {
    storage.types = NarrowValues(graph, subgraphs, NumericOptionsOf(target, numeric));
  }
  storage.parts = AliasParts(graph, subgraphs, target.BufferAlignment(), storage.types);
  return {std::move(graph), std::move(subgraphs), std::move(storage)};
}

StatusOr<KernelSet> CollectKernels(std::span<const FusedGraph> graphs,
                                   const CompileOptions& options) {
  KernelSet set;
  size_t first_graph_tasks = 0;
  for (const FusedGraph& fused : graphs) {
    TCC_RETURN_IF_ERROR(AddTasks(fused.graph, fused.subgraphs, fused.storage, options, 1, set));
    if (first_graph_tasks == 0) first_graph_tasks = set.tasks.size();
  }
  KernelSharing(options.target, first_graph_tasks, set).Run();
  return set;
}

StatusOr<KernelSet> MakeKernels(std::span<const FusedGraph> graphs, const CompileOptions& options) {
  TCC_ASSIGN_OR_RETURN(KernelSet set, CollectKernels(graphs, options));
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
  WarnOfMisfits(set, options);
  return set;
}

StatusOr<KernelSet> KernelsOf(std::vector<Graph> graphs, const CompileOptions& options) {
  std::vector<FusedGraph> fused;
  for (Graph& graph : graphs) {
    TCC_RETURN_IF_ERROR(RunGraphPasses(graph, options.target.kind, options.stop));
    fused.push_back(FuseSubgraphs(std::move(graph), options.target, options.numeric));
  }
  return MakeKernels(fused, options);
}

StatusOr<KernelSet> KernelsOf(Graph graph, const CompileOptions& options) {
  std::vector<Graph> graphs;
  graphs.push_back(std::move(graph));
  return KernelsOf(std::move(graphs), options);
}

}  // namespace tcc
