#include "codegen_cuda/text/cuda_source.h"

#include "codegen_cuda/text/kernel_source.h"
#include "codegen_cuda/text/prelude.h"

namespace tcc {

StatusOr<CudaSource> EmitCuda(std::span<const Function> functions, const Target& target) {
  TCC_ASSIGN_OR_RETURN(KernelsSource source, EmitKernels(functions, target, kCudaDialect));
  return CudaSource{std::string(CudaPrelude()) + source.text, std::move(source.plans)};
}

}  // namespace tcc
