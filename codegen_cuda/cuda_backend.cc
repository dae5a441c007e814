#include "codegen_cuda/cuda_backend.h"

#include "codegen_cuda/cuda_source.h"
#include "codegen_cuda/nvrtc.h"
#include "ir/support/stop.h"

namespace tcc {
namespace {

class CudaBackend final : public Backend {
 public:
  explicit CudaBackend(const Target& target) : target_(target) {}

  StatusOr<CompiledModule> Compile(const LoweredModule& module,
                                   const BackendOptions& options) override {
    if (module.kernels.empty()) return CompiledModule{};
    TCC_ASSIGN_OR_RETURN(CudaSource source, EmitCuda(module.kernels, target_));
    TCC_RETURN_IF_ERROR(StopIfRequested(options.stop));
    TCC_ASSIGN_OR_RETURN(Nvrtc nvrtc, Nvrtc::Open());
    TCC_ASSIGN_OR_RETURN(Cubin cubin, nvrtc.Compile(source.text, target_.sm));
    CompiledModule compiled;
    for (const KernelResources& kernel : cubin.kernels)
      compiled.kernels.push_back({.name = kernel.kernel});
    compiled.image = std::move(cubin.image);
    return compiled;
  }

  StatusOr<std::string> Emit(const LoweredModule& module, const std::string& stage) override {
    TCC_ASSIGN_OR_RETURN(CudaSource source, EmitCuda(module.kernels, target_));
    if (stage == "source") return source.text;
    if (stage != "ptx") return UsageError("target '{}' has no stage '{}'", target_.name, stage);
    TCC_ASSIGN_OR_RETURN(Nvrtc nvrtc, Nvrtc::Open());
    return nvrtc.CompileToPtx(source.text, target_.sm);
  }

 private:
  Target target_;
};

}  // namespace

std::unique_ptr<Backend> MakeCudaBackend(const Target& target) {
  return std::make_unique<CudaBackend>(target);
}

}  // namespace tcc
