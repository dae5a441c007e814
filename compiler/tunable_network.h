#pragma once

#include <set>
#include <vector>

#include "compiler/compile_options.h"
#include "ir/graph/graph.h"
#include "runtime/artefact/artefact.h"
#include "search/candidate/workload.h"

namespace tcc {

// A network as what is to be tuned of it.
struct TunableNetwork {
  std::vector<Workload> workloads;     // different ones, in the order of their first kernels
  std::vector<size_t> task_of_kernel;  // position in `workloads`
  // By workload: those that read what a kernel of it makes.
  std::vector<std::set<size_t>> consumers;
  // The network without code (runtime/measure/bound_network.h): each call of a kernel passes every
  // parameter of its tensor function in order, constants as the model has them.
  Artefact skeleton;
};

// The kernels of an imported graph as CompileGraph would make them, before their schedules. Errors
// as CompileGraph has them.
StatusOr<TunableNetwork> TunableNetworkOf(Graph graph, const CompileOptions& options);

}  // namespace tcc
