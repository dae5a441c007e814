#pragma once

#include <optional>
#include <string>
#include <vector>

#include "compiler/compile_options.h"
#include "graph/variants/task.h"
#include "lower/backend.h"
#include "schedule/space/schedule.h"
#include "search/candidate/lower_schedule.h"
#include "search/candidate/workload.h"

namespace tcc {

// One kernel at every stage of its making. Subgraphs with the same computation share it.
struct KernelStages {
  std::string symbol;                       // unique; letters, digits and underscores
  std::vector<std::string> nodes;           // of the model, of every subgraph that uses it
  double flops = 0;                         // of one call
  std::optional<int64_t> moved_bytes = {};  // of one call, too
  std::vector<Function> variants;           // of the task
  size_t first_variant = 0;                 // the one that a default schedule is for
  size_t inputs = 0;                        // of the parameters; the rest are outputs
  Function tensor;                          // the one that is scheduled
  Schedule schedule;
  std::string sketch;  // the rules that made the schedule, Sketch::name; "" where it was given
  size_t choice = 0;   // 0: the first sketch; else which of OtherSchedules, counted from 1
  bool tuned = false;  // the schedule is one of CompileOptions::tuned
  Function scheduled;
  Function lowered;                     // without what is prepared
  std::vector<KernelOperand> operands;  // of its parameters
  std::vector<PrepareStages> prepare;
};

struct KernelSet {
  // Of the subgraphs of kind kKernel in their order; those of a body where its node stands.
  std::vector<Task> tasks;
  std::vector<double> runs_of_task;    // of one run of the model; an unknown trip count is 1
  std::vector<size_t> kernel_of_task;  // index into kernels
  std::vector<KernelStages> kernels;   // by first use
  PlacedParts parts;                   // of the graph's values, not of a body's
};

// Builds the tasks of the subgraphs and the kernels that they share, without their schedules.
// Error: a task's, with its name; Cancelled soon after a stop is requested.
StatusOr<KernelSet> CollectKernels(const Graph& graph, const std::vector<Subgraph>& subgraphs,
                                   const PlacedParts& parts, const CompileOptions& options);

// A kernel as something to tune.
Workload WorkloadOf(const KernelStages& kernel);

// Builds the tasks of the subgraphs, gives each different one its schedule and lowers it
// (but for the reference target, whose kernels stay as the operators mean them). The same for any
// number of threads. Error: a task's, with its name; a schedule for no kernel, or one
// with an illegal step, by the step; Cancelled soon after a stop is requested. `parts` are what
// PlaceParts said of the subgraphs.
StatusOr<KernelSet> MakeKernels(const Graph& graph, const std::vector<Subgraph>& subgraphs,
                                const PlacedParts& parts, const CompileOptions& options);

// The kernels of an imported graph: the graph passes, fusion, then MakeKernels.
StatusOr<KernelSet> KernelsOf(Graph graph, const CompileOptions& options);

// Schedules and lowers one kernel: one of its variants by the schedule that `options` have for it,
// else by the tuned one of its workload if it fits, else by the first one from `choice` on that the
// target allows.
Status FinishKernel(KernelStages& kernel, const CompileOptions& options);

// The same with the next choice, or choice 0 after a tuned schedule; false if there is none, or the
// schedule was given. The kernel may then be of no use.
StatusOr<bool> FinishWithNextChoice(KernelStages& kernel, const CompileOptions& options);

}  // namespace tcc
