#pragma once

#include <memory>

#include "runtime/executor/thread_pool.h"
#include "runtime/measure/measuring_queue.h"
#include "runtime/opencl/opencl_memory.h"

namespace tcc {

// Measures in the memory's context, run by run, by the times that the driver notes when a kernel
// begins and ends. OpenCL has no wait that ends early: a kernel that hangs keeps the process until
// the tuner ends it.
MakeMeasuringQueue OpenClMeasuringQueues(std::shared_ptr<OpenClMemory> memory,
                                         std::shared_ptr<ThreadPool> pool);

}  // namespace tcc
