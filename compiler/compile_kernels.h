#pragma once

#include "compiler/compile_options.h"
#include "compiler/kernels.h"

namespace tcc {

// Generates the code of all kernels; for the reference target, their text. A kernel that the code
// generator refuses or finds a fault in gets its next schedule (OtherSchedules). If all have
// faults, the one with the least is kept, with a warning through `options`. A given or tuned
// schedule keeps its place despite a fault, with a warning: somebody chose it, or a measurement
// did, which saw what the fault costs. Error: all schedules of a kernel, or the given one, are
// refused; the code generator's own.
StatusOr<CompiledModule> CompileKernels(KernelSet& kernels, const CompileOptions& options);
// Generates the code by `backend`, which is for the target and no reference.
StatusOr<CompiledModule> CompileKernels(KernelSet& kernels, const CompileOptions& options,
                                        Backend& backend);

}  // namespace tcc
