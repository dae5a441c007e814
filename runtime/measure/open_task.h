#pragma once

#include <memory>

#include "runtime/executor/thread_pool.h"
#include "runtime/measure/measure_protocol.h"
#include "runtime/measure/measurement.h"

namespace tcc {

// An open task: its operands, the reference's results on them, and the measurement of candidates,
// whose results are compared with the reference's.
class OpenTask {
 public:
  OpenTask(TaskMessage message, std::shared_ptr<ThreadPool> pool);
  ~OpenTask();
  OpenTask(const OpenTask&) = delete;
  OpenTask& operator=(const OpenTask&) = delete;

  // Makes the operands, runs and times the reference: under an emulator that counts, by the
  // instructions of one call at the rates of a core. Must be called first; no candidate can be
  // measured if the status is not kOk. `canary` goes into the measurement, here and below.
  Measurement Open(double canary);
  // Checks and times a candidate. The artefact's kernels are called in this process.
  Measurement Measure(MeasureMessage message, double canary);

 private:
  class State;
  std::unique_ptr<State> state_;
};

}  // namespace tcc
