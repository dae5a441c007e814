#pragma once

#include <memory>

#include "runtime/measure/measure_protocol.h"
#include "runtime/measure/measurement.h"
#include "runtime/measure/measuring_queue.h"

namespace tcc {

// Seconds that the first run of a reference or a network may take, before its time is known.
inline constexpr double kMaxFirstSeconds = 10;
// A run hangs if it takes that many times what is known to suffice, and GpuTimingLimits'
// hang_seconds at least.
inline constexpr double kHangRatio = 50;

// An open task whose kernels run on a GPU. Operands lie on the device as long as the task lives,
// the reference's results on the host.
class GpuTask {
 public:
  GpuTask(TaskMessage message, MakeMeasuringQueue make_queue);
  ~GpuTask();
  GpuTask(const GpuTask&) = delete;
  GpuTask& operator=(const GpuTask&) = delete;

  // Makes the operands, runs and times the reference. Must be called first; no candidate can be
  // measured if the status is not kOk.
  Measurement Open();
  // Checks and times a candidate. kFault: it broke the device's context. kHang: it was not done in
  // time.
  Measurement Measure(MeasureMessage message);
  // Returns kOk, or the kFault or kHang after which no call of the driver can succeed in this
  // process: it has to end by _exit.
  MeasureStatus end() const;

 private:
  class State;
  std::unique_ptr<State> state_;
};

}  // namespace tcc
