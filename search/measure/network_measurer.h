#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "support/status.h"

namespace tcc {

// The seconds of a run of a network, the least of several.
struct NetworkTiming {
  double seconds = 0;                // the whole run
  std::vector<double> task_seconds;  // by task, all of its calls together
};

// A measurer that times candidates of all tasks inside the network: on its operands, with the
// caches as its other kernels leave them. Every task has two slots for candidates, 0 and 1.
class NetworkMeasurer {
 public:
  virtual ~NetworkMeasurer() = default;

  // Puts a candidate that a Measurer found to be right into a slot of the task.
  virtual Status Bind(size_t task, size_t slot, const std::vector<uint8_t>& artefact) = 0;

  // Runs the network `runs` times with the candidates in `slots`, one slot per task. Aborted: a
  // candidate failed, or the candidates ended the worker; a new worker then has the same candidates
  // in its slots. Any other error: measuring in this network cannot go on.
  virtual StatusOr<NetworkTiming> Run(std::span<const size_t> slots, int runs) = 0;
};

}  // namespace tcc
