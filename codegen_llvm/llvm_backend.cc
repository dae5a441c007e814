#include "codegen_llvm/llvm_backend.h"

#include "codegen_llvm/object_code.h"
#include "codegen_llvm/shared_object.h"
#include "support/stop.h"

namespace tcc {
namespace {

class LlvmBackend final : public Backend {
 public:
  explicit LlvmBackend(const Target& target) : target_(target) {}

  StatusOr<CompiledModule> Compile(const LoweredModule& module,
                                   const BackendOptions& options) override {
    if (module.kernels.empty()) return CompiledModule{};
    TCC_ASSIGN_OR_RETURN(std::vector<KernelObject> objects,
                         CompileKernels(module.kernels, target_, options));
    CompiledModule compiled;
    for (const KernelObject& object : objects)
      compiled.kernels.push_back({.statistics = {{"code_bytes", object.code_bytes}}});
    TCC_RETURN_IF_ERROR(StopIfRequested(options.stop));
    TCC_ASSIGN_OR_RETURN(compiled.image, LinkSharedObject(objects));
    return compiled;
  }

  StatusOr<std::string> Emit(const LoweredModule& module, const std::string& stage) override {
    std::string text;
    for (const Function& kernel : module.kernels) {
      TCC_ASSIGN_OR_RETURN(std::string part, KernelText(kernel, target_, stage));
      text += part;
    }
    return text;
  }

 private:
  Target target_;
};

}  // namespace

std::unique_ptr<Backend> MakeLlvmBackend(const Target& target) {
  return std::make_unique<LlvmBackend>(target);
}

}  // namespace tcc
