#pragma once

#include <memory>

#include "runtime/executor/device.h"

namespace tcc {

// Makes the device of a CPU with VDLA: its simulator runs the accelerator's kernels, the CPU the
// others, both on the host's memory.
std::shared_ptr<const Device> MakeVdlaDevice(std::shared_ptr<ThreadPool> pool);

}  // namespace tcc
