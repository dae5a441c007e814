#include "bench/cpu/compiled_kernel.h"

#include <unordered_map>

#include "codegen_llvm/llvm_backend.h"
#include "ir/simplify/simplify.h"
#include "ir/text/printer.h"
#include "lower/pipeline.h"
#include "lower/split_prepare.h"
#include "runtime/cpu/kernel_math.h"
#include "runtime/cpu/scratch.h"
#include "runtime/executor/aligned_memory.h"
#include "support/check.h"

namespace tcc {
namespace {

void RunParallel(void* context, int64_t count, TccLoopBody body, void* closure) {
  static_cast<ThreadPool*>(context)->ParallelFor(count, body, closure);
}

void* Allocate(void*, int64_t bytes) {
  return AllocateScratch(bytes);
}

void Free(void*, void* memory) {
  FreeScratch(memory);
}

void Launch(TccKernel kernel, const std::vector<Tensor>& arguments, ThreadPool& pool) {
  TccRuntime runtime{.context = &pool,
                     .parallel_for = RunParallel,
                     .alloc = Allocate,
                     .free = Free,
                     .math = TccMath};
  std::vector<void*> buffers;
  // The kernel only reads the parameters that are inputs.
  for (const Tensor& tensor : arguments) {
    buffers.push_back(const_cast<uint8_t*>(tensor.bytes.data()));
  }
  TCC_CHECK(kernel(&runtime, buffers.data(), nullptr) == TCC_KERNEL_OK) << "a kernel failed";
}

using Tensors = std::unordered_map<Var, Tensor, VarHash>;

// Returns the tensors of a lowered function's parameters. Makes a missing tensor, filled with
// zeros.
StatusOr<std::vector<Tensor>> TensorsOf(const Function& lowered, Tensors& tensors) {
  std::vector<Tensor> found;
  for (const Buffer& param : lowered.params) {
    if (!tensors.contains(param.var)) {
      std::vector<int64_t> shape = {AsConstant(param.shape[0]).value()};
      TCC_ASSIGN_OR_RETURN(tensors[param.var],
                           AllocateTensor(param.dtype(), shape, param.var->name));
    }
    found.push_back(tensors.at(param.var));
  }
  return found;
}

StatusOr<PreparedFunction> Scheduled(const Function& fn, const std::optional<Schedule>& schedule) {
  if (!schedule) return SplitPrepare(fn);
  TCC_ASSIGN_OR_RETURN(Function scheduled, Replay(fn, schedule->trace, schedule->decisions));
  return SplitPrepare(Simplify(scheduled));
}

}  // namespace

StatusOr<std::string> KernelStage(const Function& fn, const Schedule& schedule,
                                  const std::string& stage) {
  TCC_ASSIGN_OR_RETURN(PreparedFunction parts, Scheduled(fn, schedule));
  TCC_ASSIGN_OR_RETURN(Function lowered, RunPipeline(parts.main));
  if (stage == "lowered") return Print(lowered);
  TCC_ASSIGN_OR_RETURN(Target target, FindTarget("native"));
  return MakeLlvmBackend(target)->Emit({{lowered}}, stage);
}

StatusOr<BenchedKernel> BenchedKernel::Create(const Function& fn,
                                              const std::optional<Schedule>& schedule,
                                              const std::vector<Tensor>& arguments) {
  TCC_ASSIGN_OR_RETURN(PreparedFunction parts, Scheduled(fn, schedule));
  LoweredModule module;
  for (Function& prepare : parts.prepare) {
    prepare.name = "prepare_" + std::to_string(module.kernels.size());
    TCC_ASSIGN_OR_RETURN(module.kernels.emplace_back(), RunPipeline(prepare));
  }
  TCC_ASSIGN_OR_RETURN(module.kernels.emplace_back(), RunPipeline(parts.main));
  TCC_ASSIGN_OR_RETURN(Target target, FindTarget("native"));
  BenchedKernel kernel;
  TCC_ASSIGN_OR_RETURN(kernel.code_, Jit(module, target));

  Tensors tensors;
  for (size_t i = 0; i < fn.params.size(); ++i) tensors.emplace(fn.params[i].var, arguments[i]);
  ThreadPool alone({.threads = 1});
  for (const Function& lowered : module.kernels) {
    TCC_ASSIGN_OR_RETURN(kernel.arguments_, TensorsOf(lowered, tensors));
    kernel.main_ = kernel.code_->Find(lowered.name);
    if (&lowered != &module.kernels.back()) Launch(kernel.main_, kernel.arguments_, alone);
  }
  return kernel;
}

void BenchedKernel::Run(ThreadPool& pool) const {
  Launch(main_, arguments_, pool);
}

}  // namespace tcc
