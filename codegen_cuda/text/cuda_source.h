#pragma once

#include <span>

#include "codegen_cuda/text/launch.h"

namespace tcc {

// CUDA C of one program: what NVRTC compiles, and a host compiler with TCC_EMULATOR defined.
struct CudaSource {
  std::string text;
  std::vector<LaunchPlan> plans;  // of each function
};

// The kernels of kLowered GPU functions without free Tile variables, whose names differ. The same
// functions give the same text. Error: FindLaunches's; a dtype or statement that has no CUDA text.
StatusOr<CudaSource> EmitCuda(std::span<const Function> functions, const Target& target);

}  // namespace tcc
