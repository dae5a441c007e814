#pragma once

#include "compiler/compile_options.h"
#include "compiler/kernels.h"

namespace tcc {

// The code of all kernels; for the reference target their text. A kernel that the code generator
// refuses or finds a fault with gets the next schedule it may have (OtherSchedules); if all have
// faults, the one with the least, of which `options` are warned. Error: all schedules of a kernel
// are refused, or the one that was given; the code generator's own.
StatusOr<CompiledModule> CompileKernels(KernelSet& kernels, const CompileOptions& options);

}  // namespace tcc
