#include "compiler/tunable_network.h"

#include <map>

#include "compiler/describe_model.h"
#include "compiler/execution_plan.h"
#include "compiler/kernels.h"
#include "compiler/memory_need.h"
#include "graph/passes/agreements.h"
#include "graph/passes/graph_pipeline.h"
#include "runtime/artefact/artefact_device.h"

namespace tcc {
namespace {

// Adds one workload per set of equal kernels, with the calls of all.
void AddWorkloads(const KernelSet& set, TunableNetwork& network) {
  std::vector<double> runs(set.kernels.size(), 0);
  for (size_t t = 0; t < set.tasks.size(); ++t) {
    runs[set.kernel_of_task[t]] += set.runs_of_task[t];
  }
  std::map<std::string, size_t> known;
  for (size_t k = 0; k < set.kernels.size(); ++k) {
    Workload workload = WorkloadOf(set.kernels[k]);
    auto [found, fresh] = known.emplace(workload.key, network.workloads.size());
    workload.runs = 0;
    if (fresh) network.workloads.push_back(std::move(workload));
    network.workloads[found->second].runs += runs[k];
    network.task_of_kernel.push_back(found->second);
  }
}

// Walks over the plan's calls in order, a loop's calls once. The producer of a buffer is the last
// call that wrote it.
void FindConsumers(TunableNetwork& network) {
  network.consumers.resize(network.workloads.size());
  std::map<BufferId, size_t> maker;  // task
  for (const PlanCall* call : CallsIn(network.skeleton.plan.body)) {
    size_t task = network.task_of_kernel[call->kernel];
    size_t inputs = network.workloads[task].inputs;
    for (size_t i = 0; i < call->buffers.size(); ++i) {
      auto made = maker.find(call->buffers[i]);
      if (i < inputs && made != maker.end()) network.consumers[made->second].insert(task);
    }
    for (size_t i = inputs; i < call->buffers.size(); ++i) maker[call->buffers[i]] = task;
  }
}

// Makes every kernel take all parameters unchanged, since candidates prepare constants themselves.
void TakeAllParameters(KernelSet& set) {
  for (KernelStages& kernel : set.kernels) {
    kernel.prepare.clear();
    kernel.operands.clear();
    for (size_t i = 0; i < kernel.variants[0].params.size(); ++i) {
      kernel.operands.push_back({.kind = KernelOperand::Kind::kParameter, .index = i});
    }
  }
}

}  // namespace

StatusOr<TunableNetwork> TunableNetworkOf(Graph graph, const CompileOptions& options) {
  std::vector<std::string> output_names = OutputNames(graph);
  TCC_RETURN_IF_ERROR(BindAtUsual(graph));
  TCC_RETURN_IF_ERROR(RunGraphPasses(graph, options.target.kind, options.stop));
  TCC_RETURN_IF_ERROR(CheckMemoryNeed(graph, options.target));
  const FusedGraph fused = FuseSubgraphs(std::move(graph), options.target, options.numeric);
  TCC_ASSIGN_OR_RETURN(KernelSet set, CollectKernels({&fused, 1}, options));
  TunableNetwork network;
  AddWorkloads(set, network);
  TakeAllParameters(set);
  TCC_ASSIGN_OR_RETURN(ExecutionPlan plan,
                       BuildExecutionPlan({&fused, 1}, {}, set, options.target));
  network.skeleton.target = options.target.name;
  network.skeleton.device = ArtefactDevice(options.target);
  network.skeleton.weights = std::move(plan.weights);
  network.skeleton.plan = std::move(plan.plan);
  FindConsumers(network);
  TCC_ASSIGN_OR_RETURN(
      network.skeleton.metadata,
      DescribeModel({&fused, 1}, {}, output_names, set, {}, options.target, options.numeric));
  return network;
}

}  // namespace tcc
