#pragma once

#include <memory>

#include "runtime/executor/device.h"
#include "runtime/opencl/opencl_driver.h"
#include "runtime/opencl/opencl_memory.h"

namespace tcc {

// Makes a device that runs artefacts of device "opencl" (artefact/gpu_program.h). It opens the
// driver when it loads kernels (opencl_driver.h). Without an ordinal (-1) TCC_OPENCL_DEVICE
// chooses, else device 0.
std::shared_ptr<const Device> MakeOpenClDevice(int ordinal);

// Makes the same device over memory of a context that is open, which all artefacts share. What the
// driver makes of their text is kept nowhere.
std::shared_ptr<const Device> MakeOpenClDevice(std::shared_ptr<OpenClMemory> memory);

// Returns the value of TCC_OPENCL_DEVICE, 0 if it is not set. FailedPrecondition: it is not a
// number.
StatusOr<int> ChosenOpenClOrdinal();

}  // namespace tcc
