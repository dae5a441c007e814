#pragma once

#include <cstdint>
#include <vector>

#include "codegen_cuda/cubin/cubin.h"
#include "codegen_cuda/nvrtc/nvrtc.h"
#include "codegen_cuda/text/launch.h"
#include "lower/backend.h"
#include "support/gpu_occupancy.h"

namespace tcc {

// Returns how many times `blocks` blocks fill the typical device of that sm
// (Target::multiprocessors). At least one wave keeps all of the device busy.
double WavesOf(int64_t blocks, const BlockResources& block, int sm);

// A launch, its resources as ptxas reports them, and the facts read from its machine code.
struct LaunchFacts {
  const Launch* launch = nullptr;
  KernelResources resources;
  CubinKernel code;
};

// Returns the facts of each launch of a plan; `cubin` is the program that holds them. Error: the
// image is no cubin, or lacks a launch.
StatusOr<std::vector<LaunchFacts>> FactsOfLaunches(const LaunchPlan& plan, const Cubin& cubin,
                                                   int sm);

// Fills the fault and the statistics of a kernel from the facts of its launches:
//   registers, local_bytes, load_bytes_widest, shared_bytes   the maximum over the launches
//   spill_bytes, code_bytes, warnings                         the sum over the launches
//   ldmatrix_conflicts            the most rows of a matrix that wait for other rows of it, because
//                                 they lie in the same bank of shared memory; absent where no
//                                 launch uses ldmatrix
//   tensor_instructions           the number of HMMA, IMMA, HGMMA and IGMMA instructions in all
//                                 launches
//   mma_f16, mma_bf16, mma_tf32, mma_s8   the same number by operand type, where it is not 0
//   mma_group                     the number of HGMMA and IGMMA instructions, where it is not 0
//   ffma_share, waves             of the launch with the most work: the share of float32
//                                 multiply-adds among its main loop's instructions (among all
//                                 instructions where no loop has any), and WavesOf its blocks
void DescribeKernel(const std::vector<LaunchFacts>& launches, int sm, CompiledKernel& kernel);

}  // namespace tcc
