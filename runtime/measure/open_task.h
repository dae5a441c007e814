#pragma once

#include <memory>

#include "runtime/executor/thread_pool.h"
#include "runtime/measure/measure_protocol.h"
#include "runtime/measure/measurement.h"

namespace tcc {

// The operands of a task, the reference's results on them, and the measuring of candidates, whose
// results are held against these.
class OpenTask {
 public:
  OpenTask(TaskMessage message, std::shared_ptr<ThreadPool> pool);
  ~OpenTask();
  OpenTask(const OpenTask&) = delete;
  OpenTask& operator=(const OpenTask&) = delete;

  // Makes the operands, runs and times the reference. Comes first; no candidate can be measured
  // when the status is not kOk. `canary` is told back, here and below.
  Measurement Open(double canary);
  // Checks and times a candidate. The artefact's kernels are called in this process.
  Measurement Measure(MeasureMessage message, double canary);

 private:
  class State;
  std::unique_ptr<State> state_;
};

}  // namespace tcc
