#pragma once

#include "runtime/executor/module.h"
#include "support/target.h"

namespace tcc {

// The machine that runs an artefact's kernels.
enum class Execution : uint8_t { kDevice, kEmulator };

// Returns the options that load artefacts for a target to run this way. A GPU's artefacts for the
// emulator hold CUDA text (CompileOptions::gpu_code) and run as on a GPU, except that the emulated
// driver runs kernels on the CPU (codegen_cuda/emulator/driver.h). Kernels for CPUs of another
// architecture run in an emulated worker (foreign_cpu_device.h). Error: FailedPrecondition for the
// emulator and another target; Unavailable without the compiler or worker that an emulator needs,
// or for a GPU's kernels without its driver.
StatusOr<LoadOptions> LoadOptionsFor(const Target& target, Execution execution);

}  // namespace tcc
