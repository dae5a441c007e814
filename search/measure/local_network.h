#pragma once

#include <memory>
#include <span>
#include <string>
#include <vector>

#include "runtime/measure/measure_protocol.h"
#include "schedule/space/workload.h"
#include "search/measure/measurer.h"

namespace tcc {

struct LocalNetworkOptions {
  std::string worker = {};           // the path of tcc-worker; "": FindWorker()
  int threads = 1;                   // for the kernels
  uint64_t seed = 0;                 // the seed of the network's inputs
  std::string log = {};              // a file that workers' messages are appended to; "": dropped
  uint64_t address_space_bytes = 0;  // the worker's limit; 0: none
  // The times that a network may take to load, and to run once.
  double open_seconds = 300;
  double run_seconds = 300;
};

// A network that tasks are parts of.
struct NetworkParts {
  std::string skeleton;                // the path of its artefact (runtime/measure/bound_network.h)
  std::vector<size_t> task_of_kernel;  // positions in the workloads
};

// Returns the roles of the parameters of the workload's functions.
std::vector<OperandRole> RolesOf(const Workload& workload);

// Returns a measurer that runs the network in its own tcc-worker process. Unavailable: no worker
// can be started. Internal: the skeleton does not load.
StatusOr<std::unique_ptr<NetworkMeasurer>> MakeLocalNetwork(const NetworkParts& parts,
                                                            std::span<const Workload> workloads,
                                                            LocalNetworkOptions options);

}  // namespace tcc
