#include "autodiff_features/cpu/cpu_profile.h"

#include "autodiff_features/counts/real_formulas.h"

namespace tcc {

CpuConstants ConstantsOf(const CpuProfile& profile) {
  CpuConstants constants;
#define TCC_CPU_CONSTANT(name, start, meaning, source) constants.name = Real(profile.name);
  TCC_CPU_CONSTANTS(TCC_CPU_CONSTANT)
#undef TCC_CPU_CONSTANT
  return constants;
}

CpuConstants VariableConstants(std::vector<Var>& variables) {
  CpuConstants constants;
#define TCC_CPU_CONSTANT(name, start, meaning, source) \
  variables.push_back(IterationVar(#name, kFloat64));  \
  constants.name = variables.back();
  TCC_CPU_CONSTANTS(TCC_CPU_CONSTANT)
#undef TCC_CPU_CONSTANT
  return constants;
}

}  // namespace tcc
