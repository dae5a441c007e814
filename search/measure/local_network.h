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
  std::string worker = {};  // the path of tcc-worker; "": FindWorker()
  HelloMessage hello = {};  // the device, the threads for kernels and the limits of a worker
  uint64_t seed = 0;        // the seed of the network's inputs
  std::string log = {};     // a file that workers' messages are appended to; "": dropped
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

// Returns a measurer that runs the network in its own tcc-worker process. On a GPU it times the
// network alone (NetworkMeasurer::TimesTasks). Unavailable: no worker
// can be started. Internal: the skeleton does not load.
StatusOr<std::unique_ptr<NetworkMeasurer>> MakeLocalNetwork(const NetworkParts& parts,
                                                            std::span<const Workload> workloads,
                                                            LocalNetworkOptions options);

}  // namespace tcc
