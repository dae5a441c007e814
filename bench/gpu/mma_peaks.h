#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "support/numeric_mode.h"
#include "support/target.h"

namespace tcc {

// A kernel of tensor cores alone (mma.sync, operands in registers), whose rate is the most that a
// kernel with such products can reach. On sm_90 the instructions of warp groups, which libraries
// use, reach more.
struct MmaPeakKernel {
  std::string_view type;  // of the operands: "f16", "bf16", "tf32", "s8"
  std::string symbol;
  double flops_of_step = 0;  // per step of one warp; the kernel's argument is the number of steps
};

// Returns the kernels of the types that the target multiplies on tensor cores; none but CUDA
// targets have any.
std::vector<MmaPeakKernel> MmaPeakKernels(const Target& target);
// Returns the text of these kernels, to follow the prelude.
std::string MmaPeakText(const Target& target);

// The products of a mode on tensor cores: each takes `products` products of that type. `type` is ""
// for strict.
struct MmaOfMode {
  std::string_view type;
  int products = 1;
};
MmaOfMode MmaOf(NumericMode mode);

// Refuses (FailedPrecondition) a mode for which the target has no instruction; the message names
// both, and the modes that there are. On a CPU every mode runs.
Status ExpectMode(const Target& target, NumericMode mode);

}  // namespace tcc
