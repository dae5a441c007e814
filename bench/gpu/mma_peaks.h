#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "support/numeric_mode.h"
#include "support/target.h"

namespace tcc {

// A kernel of tensor cores alone (mma.sync, operands in registers): the most that a kernel which
// multiplies matrices so can reach. On sm_90 the instructions of warp groups, which libraries use,
// reach more.
struct MmaPeakKernel {
  std::string_view type;  // of the operands: "f16", "bf16", "tf32", "s8"
  std::string symbol;
  double flops_of_step = 0;  // of one warp; its argument says how many steps
};

// Of the types that the target multiplies on tensor cores; none but CUDA targets have any.
std::vector<MmaPeakKernel> MmaPeakKernels(const Target& target);
// Their text, to follow the prelude.
std::string MmaPeakText(const Target& target);

// On tensor cores a mode's products are `products` of that type each. `type` is "" for strict.
struct MmaOfMode {
  std::string_view type;
  int products = 1;
};
MmaOfMode MmaOf(NumericMode mode);

// Refused (FailedPrecondition): a mode for which the target has no instruction; the message names
// both, and the modes that there are. On a CPU every mode runs.
Status ExpectMode(const Target& target, NumericMode mode);

}  // namespace tcc
