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

Status RunCompiled(const Function& lowered, std::vector<Tensor>& arguments) {
  TCC_ASSIGN_OR_RETURN(Target target, FindTarget("native"));
  TCC_ASSIGN_OR_RETURN(std::unique_ptr<JitModule> module, Jit({{lowered}}, target));
  TccKernel kernel = module->Find(lowered.name);
  if (!kernel) return absl::InternalError("the compiled module has no kernel " + lowered.name);
  std::vector<void*> buffers;
  for (Tensor& tensor : arguments) buffers.push_back(MutableBytes(tensor).data());
  TccRuntime runtime{nullptr, RunSerially, Allocate64, Free64, TccMath};
  int32_t code = kernel(&runtime, buffers.data(), nullptr);
  return code == TCC_KERNEL_OK ? OkStatus()
                               : absl::InternalError(fmt::format("the kernel returned {}", code));
}

bool HasThreads(const Function& fn) {
  return Contains(fn.body, [&](const Stmt& stmt) {
    const auto* loop = stmt.as<For>();
    return loop && IsOfGpu(loop->for_kind);
  });
}

}  // namespace tcc
