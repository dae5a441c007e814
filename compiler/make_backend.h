#pragma once

#include <memory>

#include "lower/backend.h"
#include "runtime/artefact/gpu_program.h"
#include "support/target.h"

namespace tcc {

struct MakeBackendOptions {
  GpuCode gpu_code = GpuCode::kCubin;
  bool candidates = false;  // CudaBackendOptions::candidates
};

// Makes the code generator of a target, with the user's cache. Error: Unimplemented for targets
// that have none.
StatusOr<std::unique_ptr<Backend>> MakeBackend(const Target& target,
                                               const MakeBackendOptions& options = {});

// Returns what makes machine code for the target here, with its version: "LLVM 19.1.7", "NVRTC
// 13.0". Unavailable, with the places searched: NVRTC is missing.
StatusOr<std::string> CompilersOf(const Target& target, GpuCode gpu_code);

}  // namespace tcc
