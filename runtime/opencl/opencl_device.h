#pragma once

#include <memory>

#include "runtime/executor/device.h"
#include "runtime/opencl/opencl_driver.h"

namespace tcc {

// Makes a device that runs artefacts of device "opencl" (artefact/gpu_program.h). It opens the
// driver when it loads kernels (opencl_driver.h). Without an ordinal (-1) TCC_OPENCL_DEVICE
// chooses, else device 0.
std::shared_ptr<const Device> MakeOpenClDevice(int ordinal);

// Makes the same device over a driver that is open.
std::shared_ptr<const Device> MakeOpenClDevice(const OpenClDriver& driver, int ordinal);

}  // namespace tcc
