#pragma once

#include <memory>
#include <string>

#include "runtime/executor/device.h"
#include "support/target.h"

namespace tcc {

// Returns the command that runs tcc-worker for CPUs of the architecture on this machine:
// $TCC_WORKER_ and its name in capitals, else qemu-user with the worker that the preset for the
// architecture builds beside this program's. Unavailable, with the commands that make them, if
// there is none.
StatusOr<std::string> FindForeignWorker(CpuArch arch);

// Makes a device that runs kernels of another architecture in the worker that the command starts;
// "": the one that FindForeignWorker finds for the artefact's target. Each set of loaded kernels
// has a worker with the pool's number of threads; launches send the memory that they use, and get
// it back. A kernel that ends the worker makes the launch Unavailable, with the signal's name.
std::shared_ptr<const Device> MakeForeignCpuDevice(std::shared_ptr<ThreadPool> pool,
                                                   std::string command = {});

}  // namespace tcc
