#pragma once

#include <set>
#include <vector>

#include "compiler/compile_options.h"
#include "ir/graph/graph.h"
#include "runtime/artefact/artefact.h"
#include "schedule/space/workload.h"

namespace tcc {

// The parts of a network that are to be tuned.
struct TunableNetwork {
  std::vector<Workload> workloads;     // distinct ones, in the order of their first kernels
  std::vector<size_t> task_of_kernel;  // position in `workloads`
  // The workloads that read the results of each workload's kernels.
  std::vector<std::set<size_t>> consumers;
  // The network without code (runtime/measure/bound_network.h): each call of a kernel passes every
  // parameter of its tensor function in order, with constants as in the model.
  Artefact skeleton;
};

// Returns the kernels of an imported graph as CompileGraph would make them, before scheduling.
// Errors: CompileGraph's.
StatusOr<TunableNetwork> TunableNetworkOf(Graph graph, const CompileOptions& options);

}  // namespace tcc
