#pragma once

#include <memory>
#include <span>

#include "runtime/cuda/cuda_context.h"
#include "runtime/executor/device.h"
#include "runtime/measure/measuring_queue.h"

namespace tcc {

struct CudaMeasuringOptions {
  std::shared_ptr<const CudaContext> context;  // of the GPU that the kernels run on
  std::shared_ptr<ThreadPool> pool;            // of the host
  // The devices that artefacts are loaded on, by name and the context's ordinal.
  std::span<const DeviceRow> devices = RuntimeDevices();
};

// Measures in a stream of its own, graph by graph (runtime/cuda/cuda_timing.h).
MakeMeasuringQueue CudaMeasuringQueues(CudaMeasuringOptions options);

}  // namespace tcc
