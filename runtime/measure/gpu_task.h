#pragma once

#include <memory>
#include <span>

#include "runtime/cuda/cuda_context.h"
#include "runtime/executor/device.h"
#include "runtime/measure/measure_protocol.h"
#include "runtime/measure/measurement.h"

namespace tcc {

// Seconds that the first run of a reference or a network may take, before its time is known.
inline constexpr double kMaxFirstSeconds = 10;
// A run hangs if it takes that many times what is known to suffice, and GpuTimingLimits'
// hang_seconds at least.
inline constexpr double kHangRatio = 50;

struct GpuTaskOptions {
  std::shared_ptr<const CudaContext> context;  // of the GPU that the kernels run on
  std::shared_ptr<ThreadPool> pool;            // of the host
  // The devices that artefacts are loaded on, by name and the context's ordinal.
  std::span<const DeviceRow> devices = RuntimeDevices();
};

// An open task whose kernels run on a GPU. Operands lie on the device as long as the task lives,
// the reference's results on the host.
class GpuTask {
 public:
  GpuTask(TaskMessage message, const GpuTaskOptions& options);
  ~GpuTask();
  GpuTask(const GpuTask&) = delete;
  GpuTask& operator=(const GpuTask&) = delete;

  // Makes the operands, runs and times the reference. Must be called first; no candidate can be
  // measured if the status is not kOk.
  Measurement Open();
  // Checks and times a candidate. kFault: it broke the context. kHang: it was not done in time.
  Measurement Measure(MeasureMessage message);
  // Returns kOk, or the kFault or kHang after which no call of the driver can succeed in this
  // process: it has to end by _exit.
  MeasureStatus end() const;

 private:
  class State;
  std::unique_ptr<State> state_;
};

}  // namespace tcc
