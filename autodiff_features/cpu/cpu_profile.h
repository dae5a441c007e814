#pragma once

#include <vector>

#include "ir/expr/expr.h"
#include "support/device_profile.h"

namespace tcc {

// A CPU's profile as f64 formulas: constants if the numbers are given, variables if they are
// fitted.
struct CpuConstants {
#define TCC_CPU_CONSTANT(name, start, meaning, source) Expr name;
  TCC_CPU_CONSTANTS(TCC_CPU_CONSTANT)
#undef TCC_CPU_CONSTANT
};
CpuConstants ConstantsOf(const CpuProfile& profile);
// Returns variables for the constants; `variables` gets one for each row, in the order of the
// table.
CpuConstants VariableConstants(std::vector<Var>& variables);

}  // namespace tcc
