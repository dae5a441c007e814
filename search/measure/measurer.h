#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "runtime/measure/measurement.h"
#include "schedule/space/workload.h"
#include "support/status.h"

namespace tcc {

struct MeasureRequest {
  size_t id = 0;                  // the caller's number, repeated in the report
  std::vector<uint8_t> artefact;  // BuiltCandidate::artefact
  double stop_beyond =
      0;  // seconds: a candidate that takes longer when it is checked is kSlow; 0: none
};

struct MeasureReport {
  size_t id = 0;
  Measurement measurement;
};

// A measurer: runs candidates of one task after another, checks their results and times them.
class Measurer {
 public:
  virtual ~Measurer() = default;

  // Returns its name, "local", which is a part of the environment of every record, so that
  // measurers never mix.
  virtual std::string Name() const = 0;

  // Begins a task. `reference` is the artefact of a candidate that is known to be right; the
  // results of others must agree with its results. Returns its measurement. Error: it cannot run,
  // so that the task cannot be tuned; Unavailable if there is no device or worker at all.
  virtual StatusOr<Measurement> Open(const Workload& workload, std::vector<uint8_t> reference) = 0;

  // Queues a candidate of the open task.
  virtual void Submit(MeasureRequest request) = 0;

  // Returns whether submitted candidates are measured beside each other, and on as other tasks are
  // opened, so that whole batches of several tasks are to be submitted before a report is taken.
  virtual bool IsParallel() const { return false; }

  // Waits for the next report. nullopt: nothing is under way. Error: measuring cannot go on.
  virtual StatusOr<std::optional<MeasureReport>> Take() = 0;
};

// The seconds of a run of a network: the least of several, the mean of those in a row on a GPU.
struct NetworkTiming {
  double seconds = 0;                // the whole run
  std::vector<double> task_seconds;  // by task, all of its calls together; empty: not TimesTasks
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

  // Returns whether a timing has the seconds of each task.
  virtual bool TimesTasks() const { return true; }
};

}  // namespace tcc
