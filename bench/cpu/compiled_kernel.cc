#include "bench/cpu/compiled_kernel.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <unordered_map>

#include "codegen_llvm/llvm_backend.h"
#include "ir/simplify/simplify.h"
#include "ir/text/printer.h"
#include "lower/pipeline.h"
#include "lower/split_prepare.h"
#include "runtime/cpu/kernel_calls.h"
#include "runtime/executor/aligned_memory.h"
#include "support/check.h"
#include "support/random.h"

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

Tensor RandomTensor(const Buffer& buffer, Random& random) {
  std::vector<int64_t> shape;
  for (const Expr& extent : buffer.shape) shape.push_back(AsConstant(extent).value());
  Tensor tensor = MakeZeroTensor(buffer.dtype(), shape);
  std::span<uint8_t> bytes = MutableBytes(tensor);
  auto* values = reinterpret_cast<float*>(bytes.data());
  for (size_t i = 0; i < bytes.size() / sizeof(float); ++i) {
    values[i] = static_cast<float>(random.Unit() * 2 - 1);
  }
  return tensor;
}

Tensor Absolute(const Tensor& tensor) {
  Tensor result = MakeTensor(tensor.dtype, tensor.shape, tensor.bytes);
  std::span<uint8_t> bytes = MutableBytes(result);
  auto* values = reinterpret_cast<float*>(bytes.data());
  for (size_t i = 0; i < bytes.size() / sizeof(float); ++i) values[i] = std::abs(values[i]);
  return result;
}

// Returns the result of the function as it is written.
StatusOr<std::vector<float>> Unscheduled(const Function& fn, const std::vector<Tensor>& arguments) {
  TCC_ASSIGN_OR_RETURN(BenchedKernel compiled, BenchedKernel::Create(fn, std::nullopt, arguments));
  ThreadPool alone({.threads = 1});
  compiled.Run(alone);
  std::span<const float> values = arguments.back().values<float>();
  return std::vector<float>(values.begin(), values.end());
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

StatusOr<KernelCase> KernelCase::Create(const BenchKernel& kernel) {
  KernelCase made;
  made.fn_ = TensorFunction(kernel);
  Random random(1);
  for (const Buffer& param : made.fn_.params) {
    made.arguments_.push_back(RandomTensor(param, random));
  }
  TCC_ASSIGN_OR_RETURN(made.expected_, Unscheduled(made.fn_, made.arguments_));
  made.magnitudes_ = made.expected_;
  // The terms of a softmax are positive as they are.
  if (kernel.kind != KernelKind::kSoftmax) {
    std::vector<Tensor> absolute;
    for (const Tensor& tensor : made.arguments_) absolute.push_back(Absolute(tensor));
    TCC_ASSIGN_OR_RETURN(made.magnitudes_, Unscheduled(made.fn_, absolute));
  }
  made.factor_ =
      8 * std::sqrt(static_cast<double>(TermsOf(kernel))) * std::numeric_limits<float>::epsilon();
  return made;
}

Status KernelCase::Check(const std::string& who, const std::function<void()>& run) const {
  // `run` writes to the same memory.
  std::span<const uint8_t> bytes = arguments_.back().bytes;
  std::fill_n(const_cast<uint8_t*>(bytes.data()), bytes.size(), uint8_t{0xff});
  run();
  std::span<const float> got = arguments_.back().values<float>();
  for (size_t i = 0; i < got.size(); ++i) {
    double wanted = expected_[i], bound = factor_ * magnitudes_[i];
    if (std::abs(got[i] - wanted) <= bound) continue;
    return absl::InternalError(fmt::format("{}: {} gives {} at element {}; expected {} +- {}",
                                           fn_.name, who, got[i], i, wanted, bound));
  }
  return OkStatus();
}

}  // namespace tcc
