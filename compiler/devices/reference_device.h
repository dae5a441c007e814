#pragma once

#include <span>
#include <vector>

#include "ir/expr/function.h"
#include "runtime/executor/device.h"

// The interpreter as a device: slow, and what everything faster is checked against.
namespace tcc {

// Returns the kernels section of a reference artefact: functions of stage kTensor as text, each
// after a line "kernel NAME BYTES".
std::vector<uint8_t> ReferenceKernels(std::span<const Function> kernels);

// Parses such a section. Launch interprets on the calling thread.
std::shared_ptr<const Device> MakeReferenceDevice(std::shared_ptr<ThreadPool> pool);

// Every device that this library has: the runtime's and "reference".
std::span<const DeviceRow> AllDevices();

}  // namespace tcc
