#pragma once

#include <memory>

#include "runtime/cuda/cuda_driver.h"
#include "runtime/executor/device.h"
#include "support/target.h"

namespace tcc {

// TCC_CUDA_DEVICE, 0 where it is not set; FailedPrecondition for what is no number.
StatusOr<int> ChosenCudaOrdinal();

// The target whose code the device runs best: that with machine code for it, else the newest one
// with PTX that it can translate. Unavailable: none.
StatusOr<Target> TargetOf(const CudaDeviceInfo& device);

// Runs artefacts of device "cuda" (artefact/gpu_program.h). The driver is opened when kernels are
// loaded (cuda_driver.h). Without an ordinal (-1) TCC_CUDA_DEVICE chooses, else device 0.
std::shared_ptr<const Device> MakeCudaDevice(int ordinal);

// The same over a driver that is open.
std::shared_ptr<const Device> MakeCudaDevice(const CudaDriver& driver, int ordinal);

}  // namespace tcc
