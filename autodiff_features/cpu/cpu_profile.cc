#include "autodiff_features/cpu/cpu_profile.h"

#include "autodiff_features/counts/real_formulas.h"

namespace tcc {

const std::vector<CpuConstantRow>& CpuConstantRows() {
  static const std::vector<CpuConstantRow>& rows = *new std::vector<CpuConstantRow>{
#define TCC_CPU_CONSTANT(name, start, meaning) {#name, meaning, &CpuProfile::name},
      TCC_CPU_CONSTANTS(TCC_CPU_CONSTANT)
#undef TCC_CPU_CONSTANT
  };
  return rows;
}

CpuProfile ProfileOf(const Target& target) {
  CpuProfile profile;
  if (target.l1_bytes > 0) profile.l1_bytes = static_cast<double>(target.l1_bytes);
  if (target.l2_bytes > 0) profile.l2_bytes = static_cast<double>(target.l2_bytes);
  return profile;
}

CpuConstants ConstantsOf(const CpuProfile& profile) {
  CpuConstants constants;
#define TCC_CPU_CONSTANT(name, start, meaning) constants.name = Real(profile.name);
  TCC_CPU_CONSTANTS(TCC_CPU_CONSTANT)
#undef TCC_CPU_CONSTANT
  return constants;
}

CpuConstants VariableConstants(std::vector<Var>& variables) {
  CpuConstants constants;
#define TCC_CPU_CONSTANT(name, start, meaning)        \
  variables.push_back(IterationVar(#name, kFloat64)); \
  constants.name = variables.back();
  TCC_CPU_CONSTANTS(TCC_CPU_CONSTANT)
#undef TCC_CPU_CONSTANT
  return constants;
}

}  // namespace tcc
