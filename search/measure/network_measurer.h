#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "support/status.h"

namespace tcc {

// Seconds of a run of a network, the least of several.
struct NetworkTiming {
  double seconds = 0;                // of the whole run
  std::vector<double> task_seconds;  // by task, all of its calls together
};

// Times candidates of all tasks of a network where they run: on its operands, in the state in which
// its other kernels leave the caches. Every task has two slots for candidates, 0 and 1.
class NetworkMeasurer {
 public:
  virtual ~NetworkMeasurer() = default;

  // Puts a candidate, which was found right by itself (Measurer), into a slot of the task.
  virtual Status Bind(size_t task, size_t slot, const std::vector<uint8_t>& artefact) = 0;

  // Runs the network `runs` times with the candidates of the slots that are named by task. Aborted:
  // a candidate failed, or the candidates ended the worker; then there is a new one, with the same
  // candidates in its slots. Any
  // other error: measuring in this network cannot go on.
  virtual StatusOr<NetworkTiming> Run(std::span<const size_t> slots, int runs) = 0;
};

}  // namespace tcc
