#pragma once

#include <vector>

#include "codegen_cuda/cubin/cubin.h"
#include "codegen_cuda/nvrtc/nvrtc.h"
#include "codegen_cuda/text/launch.h"
#include "lower/backend.h"

namespace tcc {

// A launch, what ptxas said of it and what its machine code shows.
struct LaunchFacts {
  const Launch* launch = nullptr;
  KernelResources resources;
  CubinKernel code;
};

// Those of a plan in a program that holds its launches. Error: the image is no cubin, or lacks one.
StatusOr<std::vector<LaunchFacts>> FactsOfLaunches(const LaunchPlan& plan, const Cubin& cubin,
                                                   int sm);

// Fills the fault and the statistics of a kernel from those of its launches:
//   registers, local_bytes, load_bytes_widest, shared_bytes   the most that a launch has
//   spill_bytes, code_bytes, warnings                         of all of them together
//   ldmatrix_conflicts            the most rows of a matrix that wait for others of it to be loaded
//                                 from the same bank of shared memory; none where none is loaded so
//   tensor_instructions           of all: how many of the code's multiply matrices (HMMA, IMMA)
//   mma_f16, mma_bf16, mma_tf32, mma_s8   those by the type of their operands, where there are any
//   ffma_share, waves                                         of the launch with the most work:
//     how much of its main loop's instructions are float32 multiply-adds (of all its code where no
//     loop has any), and WavesOf its blocks
void DescribeKernel(const std::vector<LaunchFacts>& launches, int sm, CompiledKernel& kernel);

}  // namespace tcc
