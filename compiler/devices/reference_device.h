#pragma once

#include <span>
#include <vector>

#include "ir/expr/function.h"
#include "runtime/executor/device.h"

// The interpreter as a device: slow, and the reference that faster code is checked against.
namespace tcc {

// Returns the kernels section of a reference artefact: functions of stage kTensor as text, each
// after a line "kernel NAME BYTES".
std::vector<uint8_t> ReferenceKernels(std::span<const Function> kernels);

// Makes the device that parses such a section; Launch interprets on the calling thread.
std::shared_ptr<const Device> MakeReferenceDevice(std::shared_ptr<ThreadPool> pool);

// Returns all devices of this library: the runtime's and "reference".
std::span<const DeviceRow> AllDevices();

}  // namespace tcc
