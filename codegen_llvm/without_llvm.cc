// The replacement for this folder in a build without LLVM.

#include "codegen_llvm/assemble_text.h"
#include "codegen_llvm/jit.h"
#include "codegen_llvm/llvm_backend.h"
#include "codegen_llvm/toolchain.h"

namespace tcc {
namespace {

Status WithoutLlvm(const Target& target) {
  return Missing(
      "this build of tcc has no LLVM and so no code for target '{}'; it compiles for GPUs (sm_*) "
      "and reference",
      target.name);
}

class WithoutLlvmBackend final : public Backend {
 public:
  explicit WithoutLlvmBackend(Target target) : target_(std::move(target)) {}

  StatusOr<CompiledModule> Compile(const LoweredModule&, const BackendOptions&) override {
    return WithoutLlvm(target_);
  }
  StatusOr<std::string> Emit(const LoweredModule&, const std::string&) override {
    return WithoutLlvm(target_);
  }

 private:
  Target target_;
};

}  // namespace

bool HasLlvm() {
  return false;
}

std::string LlvmVersion() {
  return "none";
}

std::string LldVersion() {
  return "none";
}

std::string HostCpuName() {
#if defined(__x86_64__)
  __builtin_cpu_init();
  return __builtin_cpu_supports("x86-64-v4")   ? "x86-64-v4"
         : __builtin_cpu_supports("x86-64-v3") ? "x86-64-v3"
                                               : "x86-64";
#else
  return RowOf(kHostArch).name;
#endif
}

std::unique_ptr<Backend> MakeLlvmBackend(const Target& target) {
  return std::make_unique<WithoutLlvmBackend>(target);
}

Status AssembleText(const std::string&, const std::string&, const Target& target) {
  return WithoutLlvm(target);
}

struct JitModule::Engine {};

JitModule::JitModule(std::unique_ptr<Engine> engine) : engine_(std::move(engine)) {}
JitModule::~JitModule() = default;
JitModule::JitModule(JitModule&&) noexcept = default;
JitModule& JitModule::operator=(JitModule&&) noexcept = default;

TccKernel JitModule::Find(const std::string&) const {
  return nullptr;
}

StatusOr<std::unique_ptr<JitModule>> Jit(const LoweredModule&, const Target& target,
                                         const BackendOptions&) {
  return WithoutLlvm(target);
}

}  // namespace tcc
