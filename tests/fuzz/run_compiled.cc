#include "tests/fuzz/run_compiled.h"

#include <cstdlib>

#include "codegen_llvm/jit.h"
#include "ir/expr/visitor.h"
#include "runtime/cpu/kernel_calls.h"

namespace tcc {
namespace {

void RunSerially(void*, int64_t count, TccLoopBody body, void* closure) {
  body(closure, 0, count);
}
void* Allocate64(void*, int64_t bytes) {
  return std::aligned_alloc(64, static_cast<size_t>((bytes + 127) / 64 * 64));
}
void Free64(void*, void* memory) {
  std::free(memory);
}

// Virtual threads meet at barriers too.
bool IsOfGpu(ForKind kind) {
  return IsThreadIdx(kind) || IsBlockIdx(kind) || kind == ForKind::kVthread;
}

}  // namespace

StatusOr<CompiledFunction> CompiledFunction::Make(const Function& lowered) {
  TCC_ASSIGN_OR_RETURN(Target target, FindTarget("native"));
  CompiledFunction compiled;
  TCC_ASSIGN_OR_RETURN(compiled.module_, Jit({{lowered}}, target));
  compiled.name_ = lowered.name;
  return compiled;
}

Status CompiledFunction::Run(std::vector<Tensor>& arguments, std::span<const int64_t> sizes) const {
  TccKernel kernel = module_->Find(name_);
  if (!kernel) return absl::InternalError("the compiled module has no kernel " + name_);
  std::vector<void*> buffers;
  for (Tensor& tensor : arguments) buffers.push_back(MutableBytes(tensor).data());
  TccRuntime runtime{nullptr, RunSerially, Allocate64, Free64, TccMath};
  int32_t code = kernel(&runtime, buffers.data(), sizes.data());
  return code == TCC_KERNEL_OK ? OkStatus()
                               : absl::InternalError(fmt::format("the kernel returned {}", code));
}

Status RunCompiled(const Function& lowered, std::vector<Tensor>& arguments) {
  TCC_ASSIGN_OR_RETURN(CompiledFunction compiled, CompiledFunction::Make(lowered));
  return compiled.Run(arguments);
}

bool HasThreads(const Function& fn) {
  return Contains(fn.body, [&](const Stmt& stmt) {
    const auto* loop = stmt.as<For>();
    return loop && IsOfGpu(loop->for_kind);
  });
}

}  // namespace tcc
