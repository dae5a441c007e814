#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "compiler/compile_options.h"
#include "graph/variants/task.h"
#include "lower/backend.h"
#include "lower/lower_kernel.h"
#include "schedule/space/schedule.h"
#include "schedule/space/workload.h"

namespace tcc {

// One kernel at every stage of its making. Subgraphs with the same computation share it.
struct KernelStages : KernelWork {
  std::string symbol;              // unique; letters, digits and underscores
  std::vector<std::string> nodes;  // of the model, from every subgraph that uses it
  Function tensor;                 // the variant that is scheduled
  Schedule schedule;
  std::string sketch;     // the rules that made the schedule, Sketch::name; "" if given
  size_t choice = 0;      // 0: the first sketch; else OtherSchedules and more, from 1
  std::string misfit;     // why choice 0 does not fit all values of free sizes; "" if it does
  bool tuned = false;     // the schedule is one of CompileOptions::tuned
  bool expected = false;  // it is FasterStart's
  Function scheduled;
  Function lowered;                     // without the prepared part
  std::vector<KernelOperand> operands;  // of the lowered parameters
  std::vector<PrepareStages> prepare;
};

// A graph after the passes, cut into subgraphs. A plan has a body for each.
struct FusedGraph {
  Graph graph;
  std::vector<Subgraph> subgraphs;
  ValueStorage storage;  // of the graph's values, not a body's
};

// Cuts a graph after the passes into subgraphs, whose operands are to be rounded by `numeric`.
FusedGraph FuseSubgraphs(Graph graph, const Target& target, NumericMode numeric);

struct KernelSet {
  // The tasks of the subgraphs of kind kKernel in order; a body's tasks come at its node.
  std::vector<Task> tasks;
  std::vector<double> runs_of_task;    // per run of the model; an unknown trip count is 1
  std::vector<size_t> kernel_of_task;  // index into kernels
  // By task, by place in Task::zero_cases; nullopt: there is nothing to compute.
  std::vector<std::vector<std::optional<size_t>>> kernels_of_zero_cases;
  std::vector<KernelStages> kernels;  // by first use
};

// Builds the tasks of the graphs, one graph after the other, and the kernels that they share,
// without their schedules. Error: a task's, with its name; Cancelled soon after a stop is
// requested.
StatusOr<KernelSet> CollectKernels(std::span<const FusedGraph> graphs,
                                   const CompileOptions& options);

// Returns the kernel, at its usual sizes, as a workload to tune: with the variants that compute the
// same of all operands. WorkloadKeyOf returns its key.
Workload WorkloadOf(const KernelStages& kernel);
std::string WorkloadKeyOf(const KernelStages& kernel);

// Builds the tasks of the graphs, gives each distinct one its schedule and lowers it (except for
// the reference target, whose kernels stay unscheduled). The result is the same for any number of
// threads. Error: a task's, with its name; a schedule for no kernel, or one with an illegal step,
// by the step; Cancelled soon after a stop is requested.
StatusOr<KernelSet> MakeKernels(std::span<const FusedGraph> graphs, const CompileOptions& options);

// Makes the kernels of imported graphs: runs the graph passes and fusion, then MakeKernels.
StatusOr<KernelSet> KernelsOf(std::vector<Graph> graphs, const CompileOptions& options);
StatusOr<KernelSet> KernelsOf(Graph graph, const CompileOptions& options);

// Schedules and lowers one kernel, with free sizes as its twin (schedule/space/free_schedule.h):
// one of its variants by the schedule that `options` have for it, else by the tuned one of its
// workload if it fits, else by the start that is expected to be faster than choice 0, else by the
// first one from `choice` on that the target and all sizes allow.
Status FinishKernel(KernelStages& kernel, const CompileOptions& options);

// Does the same with the next choice, or with choice 0 after a tuned or an expected schedule.
// Returns false if there is none or the schedule was given; the kernel may then be unusable.
StatusOr<bool> FinishWithNextChoice(KernelStages& kernel, const CompileOptions& options);

}  // namespace tcc
