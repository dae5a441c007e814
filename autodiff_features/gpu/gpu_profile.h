#pragma once

#include <vector>

#include "ir/expr/expr.h"
#include "support/device_profile.h"

namespace tcc {

// A GPU's profile as f64 formulas: constants if the numbers are given, variables if they are
// fitted. Its sizes are numbers in either case.
struct GpuConstants : GpuSizes {
#define TCC_GPU_CONSTANT(name, start, fitted, meaning) Expr name = {};
  TCC_GPU_CONSTANTS(TCC_GPU_CONSTANT)
#undef TCC_GPU_CONSTANT
};
GpuConstants ConstantsOf(const GpuProfile& profile);
// Returns variables for the constants; `variables` gets one for each row, in the order of the
// table.
GpuConstants VariableGpuConstants(const GpuSizes& sizes, std::vector<Var>& variables);

}  // namespace tcc
