#pragma once

#include <span>

#include "codegen_cuda/text/launch.h"

namespace tcc {

// The CUDA C text of one program, for NVRTC or, with TCC_EMULATOR defined, for a host compiler.
struct CudaSource {
  std::string text;
  std::vector<LaunchPlan> plans;  // one per function
};

// Emits the kernels of kLowered GPU functions, whose names differ and which have no free Tile
// variables. The same functions give the same text. Error: that of FindLaunches; a dtype or
// statement that has no CUDA text.
StatusOr<CudaSource> EmitCuda(std::span<const Function> functions, const Target& target);

}  // namespace tcc
