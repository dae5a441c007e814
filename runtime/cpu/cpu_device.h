#pragma once

#include <memory>

#include "runtime/executor/device.h"

namespace tcc {

// Makes the CPU device. Its kernels are machine code in an ELF shared object with the interface of
// kernel_abi.h. The system's dynamic linker loads it from anonymous memory, so that debuggers and
// profilers see it.
std::shared_ptr<const Device> MakeCpuDevice(std::shared_ptr<ThreadPool> pool);

}  // namespace tcc
