#pragma once

#include <memory>

#include "lower/backend.h"
#include "support/target.h"

namespace tcc {

// Makes the backend of an OpenCL target. Compile gives a GpuProgram
// (runtime/artefact/gpu_program.h) of GpuCode::kOpenClText, which a driver compiles where it runs:
// the machine code's resources are unknown. Kernels take a buffer and a place in it for each
// buffer, workspace (opencl_prelude.h). A function that cannot become launches is refused. Emit
// knows the stage "source".
std::unique_ptr<Backend> MakeOpenClBackend(const Target& target);

}  // namespace tcc
