#pragma once

#include "bench/cpu/kernel_suite.h"
#include "bench/operator/operator.h"
#include "compiler/kernels.h"

namespace tcc {

// Returns the operator that a kernel of the suites computes, images with the channels last.
BenchOperator OperatorOf(const BenchKernel& kernel);

// Returns the kernel that the compiler makes of this operator, with all of its variants
// (Winograd's, merged dimensions, a padded input, implicit GEMM) and without a schedule. Its
// parameters are those of TensorFunction(kernel), in their order and row-major: some have further
// dimensions of extent 1. Error: a graph pass's; the operator became several kernels.
StatusOr<KernelStages> CompilerKernelOf(const BenchKernel& kernel, const Target& target);

// Returns the same as a workload, named like the kernel: what tcc tune searches for this operator.
StatusOr<Workload> TunedWorkloadOf(const BenchKernel& kernel, const Target& target);

}  // namespace tcc
