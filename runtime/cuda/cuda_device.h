#pragma once

#include <memory>

#include "runtime/cuda/cuda_driver.h"
#include "runtime/executor/device.h"
#include "support/target.h"

namespace tcc {

// Returns the value of TCC_CUDA_DEVICE, 0 if it is not set. FailedPrecondition: it is not a number.
StatusOr<int> ChosenCudaOrdinal();

// Returns the target whose code the device runs best: the one with machine code for it, else the
// newest one with PTX that it can translate. Unavailable: there is none.
StatusOr<Target> TargetOf(const CudaDeviceInfo& device);

// Makes a device that runs artefacts of device "cuda" (artefact/gpu_program.h). It opens the driver
// when it loads kernels (cuda_driver.h). Without an ordinal (-1) TCC_CUDA_DEVICE chooses, else
// device 0.
std::shared_ptr<const Device> MakeCudaDevice(int ordinal);

// Makes the same device over a driver that is open.
std::shared_ptr<const Device> MakeCudaDevice(const CudaDriver& driver, int ordinal);

}  // namespace tcc
