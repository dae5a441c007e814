#pragma once

#include <memory>
#include <string>

#include "lower/backend.h"
#include "runtime/artefact/gpu_program.h"
#include "support/target.h"

namespace tcc {

struct CudaBackendOptions {
  GpuCode code = GpuCode::kCubin;  // kCudaText needs no NVRTC; its resources are unknown
  std::string cache_folder = {};   // the folder that keeps NVRTC's results; "": none
  // Whether the code is of candidates, of which there are thousands that nobody wants again: then
  // neither this backend nor the folder keeps it, and images have no PTX for newer devices.
  bool candidates = false;
};

// Makes the backend of a CUDA target. Compile gives a GpuProgram (runtime/artefact/gpu_program.h)
// with one kernel per function. A kernel that spills, keeps a thread's buffers in local memory, or
// makes ptxas warn has a fault; a function that cannot become launches is refused. Emit knows the
// stages "source" (CUDA C, without NVRTC), "ptx" and "asm" (by nvdisasm). Where NVRTC or nvdisasm
// is needed and missing, the error is Unavailable and lists the places searched.
std::unique_ptr<Backend> MakeCudaBackend(const Target& target,
                                         const CudaBackendOptions& options = {});

}  // namespace tcc
