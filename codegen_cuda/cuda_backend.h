#pragma once

#include <memory>
#include <string>

#include "lower/backend.h"
#include "runtime/artefact/gpu_program.h"
#include "support/target.h"

namespace tcc {

struct CudaBackendOptions {
  GpuCode code = GpuCode::kCubin;  // kCudaText needs no NVRTC; nothing is known of its resources
  std::string cache_folder = {};   // where NVRTC's results are kept; "": nowhere
};

// For CUDA targets. Compile gives a GpuProgram (runtime/artefact/gpu_program.h), one kernel for
// each function; kernels that spill, keep buffers of a thread in local memory or that ptxas warns
// of have a fault, those that no launch can be made of are refused. Emit gives "source" (CUDA C,
// without NVRTC), "ptx" and "asm" (by nvdisasm). Where NVRTC or nvdisasm is needed and not there,
// Unavailable says where it was sought.
std::unique_ptr<Backend> MakeCudaBackend(const Target& target,
                                         const CudaBackendOptions& options = {});

}  // namespace tcc
