#include "compiler/make_backend.h"

#include "codegen_cuda/cuda_backend.h"
#include "codegen_cuda/nvrtc/nvrtc.h"
#include "codegen_llvm/llvm_backend.h"
#include "codegen_llvm/toolchain.h"
#include "codegen_opencl/opencl_backend.h"
#include "codegen_vdla/vdla_backend.h"
#include "runtime/measure/worker_device.h"
#include "support/environment.h"
#include "support/target_api.h"

namespace tcc {

StatusOr<std::unique_ptr<Backend>> MakeBackend(const Target& target,
                                               const MakeBackendOptions& options) {
  switch (target.kind) {
    case TargetKind::kCpu:
      return target.accelerator == Accelerator::kVdla
                 ? MakeVdlaBackend(VdlaConfig(), MakeLlvmBackend(target))
                 : MakeLlvmBackend(target);
    case TargetKind::kGpu:
      if (target.api == GpuApi::kOpenCl) return MakeOpenClBackend(target);
      return MakeCudaBackend(target, {.code = options.gpu_code,
                                      .cache_folder = CacheFolder(),
                                      .candidates = options.candidates});
    case TargetKind::kReference:
      break;
  }
  return Unsupported("target '{}' has no code generator", target.name);
}

StatusOr<std::string> CompilersOf(const Target& target, GpuCode gpu_code) {
  if (target.kind != TargetKind::kGpu) return "LLVM " + LlvmVersion();
  if (IsOpenCl(target)) return "OpenCL C 1.2";
  if (gpu_code == GpuCode::kCudaText) return std::string(kTextCompilers);
  TCC_ASSIGN_OR_RETURN(Nvrtc nvrtc, Nvrtc::Open());
  TCC_RETURN_IF_ERROR(nvrtc.ExpectArch(target.sm));
  return "NVRTC " + nvrtc.version();
}

}  // namespace tcc
