#include "codegen_llvm/object_code.h"

#include <llvm/ADT/SmallVector.h>
#include <llvm/Analysis/TargetLibraryInfo.h>
#include <llvm/IR/LegacyPassManager.h>
#include <llvm/IR/Module.h>
#include <llvm/Object/ObjectFile.h>
#include <llvm/Passes/PassBuilder.h>
#include <llvm/Support/ErrorHandling.h>
#include <llvm/Support/raw_ostream.h>
#include <llvm/Target/TargetMachine.h>
#include <llvm/Transforms/InstCombine/InstCombine.h>
#include <llvm/Transforms/Scalar/EarlyCSE.h>
#include <llvm/Transforms/Scalar/LICM.h>
#include <llvm/Transforms/Scalar/LoopPassManager.h>
#include <llvm/Transforms/Scalar/SROA.h>
#include <llvm/Transforms/Scalar/SimplifyCFG.h>

#include <atomic>
#include <cstdint>
#include <mutex>
#include <new>
#include <optional>

#include "codegen_llvm/kernel_emitter.h"
#include "codegen_llvm/left_on_throw.h"
#include "codegen_llvm/target_machine.h"
#include "support/check.h"
#include "support/stop.h"
#include "support/threads.h"

namespace tcc {
namespace {

void ThrowBadAlloc(void*, const char*, bool) {
  // More than any machine has: std::bad_alloc.
  volatile size_t bytes = PTRDIFF_MAX;
  ::operator delete(::operator new(bytes));
}

// Makes LLVM throw std::bad_alloc when memory runs out, in the whole process, which it would end
// otherwise. May be called any number of times.
void InstallBadAllocHandler() {
  static std::once_flag once;
  std::call_once(once, [] { llvm::install_bad_alloc_error_handler(ThrowBadAlloc); });
}

struct Analyses {
  llvm::LoopAnalysisManager loops;
  llvm::FunctionAnalysisManager functions;
  llvm::CGSCCAnalysisManager sccs;
  llvm::ModuleAnalysisManager modules;
};

// The passes that pay on code with explicit vectors: promotion of register tiles, common
// subexpressions, address arithmetic, hoisting of invariants. O2 gains nothing more and costs 10
// ms per kernel.
void RunPasses(llvm::Module& module, llvm::TargetMachine& machine) {
  LeftOnThrow<Analyses> analyses(std::in_place);
  auto& [loops, functions, sccs, modules] = *analyses;
  LeftOnThrow<llvm::PassBuilder> builder(std::in_place, &machine);
  // No library: nothing may become a call of memset or fma.
  llvm::TargetLibraryInfoImpl no_library(machine.getTargetTriple());
  no_library.disableAllFunctions();
  functions.registerPass(
      [&no_library = no_library] { return llvm::TargetLibraryAnalysis(no_library); });
  builder->registerModuleAnalyses(modules);
  builder->registerCGSCCAnalyses(sccs);
  builder->registerFunctionAnalyses(functions);
  builder->registerLoopAnalyses(loops);
  builder->crossRegisterProxies(loops, functions, sccs, modules);

  LeftOnThrow<llvm::FunctionPassManager> passes(std::in_place);
  passes->addPass(llvm::SROAPass(llvm::SROAOptions::PreserveCFG));
  passes->addPass(llvm::EarlyCSEPass(/*UseMemorySSA=*/true));
  passes->addPass(llvm::SimplifyCFGPass());
  passes->addPass(llvm::InstCombinePass());
  passes->addPass(llvm::createFunctionToLoopPassAdaptor(llvm::LICMPass(llvm::LICMOptions()),
                                                        /*UseMemorySSA=*/true));
  passes->addPass(llvm::EarlyCSEPass(/*UseMemorySSA=*/true));
  for (llvm::Function& function : module)
    if (!function.isDeclaration()) passes->run(function, functions);
}

void RunCodeGenerator(llvm::Module& module, llvm::TargetMachine& machine,
                      llvm::raw_pwrite_stream& out, llvm::CodeGenFileType type) {
  LeftOnThrow<llvm::legacy::PassManager> passes(std::in_place);
  llvm::TargetLibraryInfoImpl no_library(machine.getTargetTriple());
  no_library.disableAllFunctions();
  passes->add(new llvm::TargetLibraryInfoWrapperPass(no_library));
  bool refused = machine.addPassesToEmitFile(*passes, out, nullptr, type);
  TCC_CHECK(!refused) << "LLVM cannot write this kind of file";
  passes->run(module);
}

int64_t CodeBytes(llvm::StringRef object) {
  auto file = llvm::object::ObjectFile::createObjectFile(llvm::MemoryBufferRef(object, "kernel"));
  TCC_CHECK(static_cast<bool>(file)) << "LLVM wrote no object file";
  int64_t bytes = 0;
  for (const llvm::object::SectionRef& section : (*file)->sections())
    if (section.isText()) bytes += static_cast<int64_t>(section.getSize());
  return bytes;
}

}  // namespace

StatusOr<KernelObject> CompileKernel(const Function& fn, const Target& target,
                                     const std::stop_token& stop) {
  InstallBadAllocHandler();
  TCC_ASSIGN_OR_RETURN(std::unique_ptr<llvm::TargetMachine> made, CreateTargetMachine(target));
  LeftOnThrow machine(std::move(made));
  LeftOnThrow<llvm::LLVMContext> context(std::in_place);
  TCC_RETURN_IF_ERROR(StopIfRequested(stop));
  EmittedKernel kernel = EmitKernel(*context, fn, target, *machine);
  LeftOnThrow module(std::move(kernel.module));
  TCC_RETURN_IF_ERROR(StopIfRequested(stop));
  RunPasses(*module, *machine);
  TCC_RETURN_IF_ERROR(StopIfRequested(stop));
  llvm::SmallVector<char, 0> object;
  llvm::raw_svector_ostream stream(object);
  RunCodeGenerator(*module, *machine, stream, llvm::CodeGenFileType::ObjectFile);
  return KernelObject{.name = fn.name,
                      .bytes = {object.begin(), object.end()},
                      .code_bytes = CodeBytes(stream.str()),
                      .needs = kernel.needs};
}

StatusOr<std::vector<KernelObject>> CompileKernels(const std::vector<Function>& kernels,
                                                   const Target& target,
                                                   const BackendOptions& options) {
  std::vector<std::optional<StatusOr<KernelObject>>> results(kernels.size());
  std::atomic<size_t> next = 0;
  std::mutex mutex;
  int64_t done = 0;
  if (options.progress) options.progress(0, static_cast<int64_t>(kernels.size()));
  auto work = [&] {
    for (size_t i = next++; i < kernels.size(); i = next++) {
      results[i] = CompileKernel(kernels[i], target, options.stop);
      if (!options.progress) continue;
      std::lock_guard lock(mutex);
      options.progress(++done, static_cast<int64_t>(kernels.size()));
    }
  };
  RunOnThreads(static_cast<int>(std::min<int64_t>(options.threads, kernels.size())), work);

  std::vector<KernelObject> objects;
  for (std::optional<StatusOr<KernelObject>>& result : results) {
    if (!result->ok()) return result->status();
    objects.push_back(std::move(**result));
  }
  return objects;
}

StatusOr<std::string> KernelText(const Function& fn, const Target& target,
                                 const std::string& stage) {
  if (stage != "source" && stage != "asm")
    return UsageError("unknown stage '{}' of a CPU kernel; expected source or asm", stage);
  TCC_ASSIGN_OR_RETURN(std::unique_ptr<llvm::TargetMachine> machine, CreateTargetMachine(target));
  llvm::LLVMContext context;
  std::unique_ptr<llvm::Module> module = EmitKernel(context, fn, target, *machine).module;
  RunPasses(*module, *machine);
  llvm::SmallVector<char, 0> text;
  llvm::raw_svector_ostream stream(text);
  if (stage == "source") {
    module->print(stream, nullptr);
  } else {
    RunCodeGenerator(*module, *machine, stream, llvm::CodeGenFileType::AssemblyFile);
  }
  return std::string(text.begin(), text.end());
}

}  // namespace tcc
