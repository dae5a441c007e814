#pragma once

#include <cstdint>
#include <memory>

#include "runtime/supervise/task_runner.h"
#include "search/measure/measurer.h"

namespace tcc {

struct LocalMeasurerOptions {
  TaskRunnerOptions runner = {};
  MeasurePolicy policy = MeasurePolicy::kRotate64M;
  GpuTimingLimits gpu = {};
  uint64_t seed = 0;  // the seed of the operands
};

// Returns the message that opens the workload's task, without the reference's artefact.
TaskMessage TaskOf(const Workload& workload, const LocalMeasurerOptions& options);

// Returns a measurer that uses one tcc-worker process of this machine, in the caller's thread and
// inside of Take (TaskRunner).
//
// `runner` was started with the options; null: one is started. Unavailable: no worker can be
// started.
StatusOr<std::unique_ptr<Measurer>> MakeLocalMeasurer(LocalMeasurerOptions options,
                                                      std::unique_ptr<TaskRunner> runner = nullptr);

}  // namespace tcc
