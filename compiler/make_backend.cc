#include "compiler/make_backend.h"

#include "codegen_cuda/cuda_backend.h"
#include "codegen_llvm/llvm_backend.h"
#include "support/environment.h"

namespace tcc {

StatusOr<std::unique_ptr<Backend>> MakeBackend(const Target& target, GpuCode gpu_code) {
  switch (target.kind) {
    case TargetKind::kCpu:
      return MakeLlvmBackend(target);
    case TargetKind::kGpu:
      return MakeCudaBackend(target, {.code = gpu_code, .cache_folder = CacheFolder()});
    case TargetKind::kReference:
      break;
  }
  return Unsupported("target '{}' has no code generator", target.name);
}

}  // namespace tcc
