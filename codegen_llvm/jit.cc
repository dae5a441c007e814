#include "codegen_llvm/jit.h"

#include <llvm/ExecutionEngine/Orc/LLJIT.h>
#include <llvm/Support/MemoryBuffer.h>

#include "codegen_llvm/object_code.h"
#include "codegen_llvm/target_machine.h"

namespace tcc {

struct JitModule::Engine {
  std::unique_ptr<llvm::orc::LLJIT> jit;
};

JitModule::JitModule(std::unique_ptr<Engine> engine) : engine_(std::move(engine)) {}
JitModule::~JitModule() = default;
JitModule::JitModule(JitModule&&) noexcept = default;
JitModule& JitModule::operator=(JitModule&&) noexcept = default;

TccKernel JitModule::Find(const std::string& name) const {
  llvm::Expected<llvm::orc::ExecutorAddr> address = engine_->jit->lookup(name);
  if (address) return address->toPtr<TccKernel>();
  llvm::consumeError(address.takeError());
  return nullptr;
}

StatusOr<std::unique_ptr<JitModule>> Jit(const LoweredModule& module, const Target& target,
                                         const BackendOptions& options) {
  if (target.arch != kHostArch) {
    return Missing("kernels for {} do not run in this process, whose CPU is {}",
                   RowOf(target.arch).name, RowOf(kHostArch).name);
  }
  TCC_ASSIGN_OR_RETURN(std::vector<KernelObject> objects,
                       CompileKernels(module.kernels, target, options));
  // Kernels use no runtime of the language, so no platform is set up for constructors and the like.
  llvm::orc::LLJITBuilder builder;
  builder.setJITTargetMachineBuilder(
      llvm::orc::JITTargetMachineBuilder(llvm::Triple(TripleOf(kHostArch))));
  builder.setPlatformSetUp(llvm::orc::setUpInactivePlatform);
  builder.setLinkProcessSymbolsByDefault(false);
  llvm::Expected<std::unique_ptr<llvm::orc::LLJIT>> jit = builder.create();
  if (!jit) return absl::InternalError("jit: " + llvm::toString(jit.takeError()));
  for (const KernelObject& object : objects) {
    llvm::StringRef bytes(reinterpret_cast<const char*>(object.bytes.data()), object.bytes.size());
    if (llvm::Error error =
            (*jit)->addObjectFile(llvm::MemoryBuffer::getMemBufferCopy(bytes, object.name)))
      return absl::InternalError("jit: " + llvm::toString(std::move(error)));
  }
  auto engine = std::make_unique<JitModule::Engine>();
  engine->jit = std::move(*jit);
  return std::make_unique<JitModule>(std::move(engine));
}

}  // namespace tcc
