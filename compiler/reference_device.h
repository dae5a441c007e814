#pragma once

#include "compiler/kernels.h"
#include "runtime/executor/device.h"

// The interpreter as a device: slow, and what everything faster is checked against.
namespace tcc {

// The kernels section of a reference artefact: the kTensor functions as text, each after a line
// "kernel NAME BYTES".
std::vector<uint8_t> ReferenceKernels(const KernelSet& kernels);

// Parses such a section. Launch interprets on the calling thread.
std::shared_ptr<const Device> MakeReferenceDevice(std::shared_ptr<ThreadPool> pool);

// Every device that this library has: the runtime's and "reference".
std::span<const DeviceRow> AllDevices();

}  // namespace tcc
