#pragma once

#include "runtime/executor/module.h"
#include "support/target.h"

namespace tcc {

// What runs an artefact's kernels.
enum class Execution : uint8_t { kDevice, kEmulator };

// How to load artefacts for a target that are to be run so. For the emulator they hold CUDA text
// (CompileOptions::gpu_code) and run as on a GPU, but for the driver, whose kernels the CPU runs
// (codegen_cuda/emulator/driver.h). Error: FailedPrecondition for the emulator and a target that is
// no GPU; Unavailable without the compiler that the emulator needs, or for a GPU's kernels without
// its driver.
StatusOr<LoadOptions> LoadOptionsFor(const Target& target, Execution execution);

}  // namespace tcc
