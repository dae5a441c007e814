#pragma once

#include <memory>

#include "runtime/executor/device.h"

namespace tcc {

// Kernels are machine code in an ELF shared object with the interface of kernel_abi.h. It is loaded
// from anonymous memory by the system's dynamic linker, so that debuggers and profilers see it.
std::shared_ptr<const Device> MakeCpuDevice(std::shared_ptr<ThreadPool> pool);

}  // namespace tcc
