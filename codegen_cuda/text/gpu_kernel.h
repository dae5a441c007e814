#pragma once

#include <cstdint>

#include "codegen_cuda/text/launch.h"
#include "ir/expr/function.h"
#include "runtime/artefact/gpu_program.h"

namespace tcc {

// Describes to the runtime how to start a kLowered function: its launches, all in image `image`.
// Shapes are the function's variables in their order.
GpuKernel GpuKernelOf(const Function& fn, const LaunchPlan& plan, uint32_t image);

}  // namespace tcc
