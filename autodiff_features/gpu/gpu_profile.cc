#include "autodiff_features/gpu/gpu_profile.h"

#include "autodiff_features/counts/real_formulas.h"

namespace tcc {

GpuConstants ConstantsOf(const GpuProfile& profile) {
  GpuConstants constants{profile};
#define TCC_GPU_CONSTANT(name, start, fitted, meaning) constants.name = Real(profile.name);
  TCC_GPU_CONSTANTS(TCC_GPU_CONSTANT)
#undef TCC_GPU_CONSTANT
  return constants;
}

GpuConstants VariableGpuConstants(const GpuSizes& sizes, std::vector<Var>& variables) {
  GpuConstants constants{sizes};
#define TCC_GPU_CONSTANT(name, start, fitted, meaning) \
  variables.push_back(IterationVar(#name, kFloat64));  \
  constants.name = variables.back();
  TCC_GPU_CONSTANTS(TCC_GPU_CONSTANT)
#undef TCC_GPU_CONSTANT
  return constants;
}

}  // namespace tcc
