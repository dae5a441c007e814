#include "compiler/prepare_weights.h"

#include <algorithm>
#include <map>

#include "codegen_llvm/llvm_backend.h"
#include "codegen_llvm/toolchain.h"
#include "ir/interpret/interpreter.h"
#include "ir/simplify/simplify.h"
#include "runtime/cpu/cpu_device.h"
#include "support/check.h"
#include "support/stop.h"
#include "support/threads.h"

namespace tcc {
namespace {

// The distinct functions that `weights` name, and the index of each.
struct PrepareCode {
  LoweredModule module;
  Metadata metadata;
  std::map<std::string, size_t> index;  // by key
};

PrepareCode CollectFunctions(const KernelSet& kernels, std::span<const PreparedWeight> weights) {
  std::map<std::string, const Function*> known;
  for (const KernelStages& kernel : kernels.kernels) {
    for (const PrepareStages& prepare : kernel.prepare) {
      known.emplace(prepare.key, &prepare.lowered);
    }
  }
  PrepareCode code;
  for (const PreparedWeight& weight : weights) {
    size_t next = code.module.kernels.size();
    if (!code.index.emplace(weight.function, next).second) continue;
    Function fn = *known.at(weight.function);
    fn.name = "prepare_" + std::to_string(next);
    KernelInfo info;
    info.name = fn.name;
    code.metadata.kernels.push_back(info);
    code.module.kernels.push_back(std::move(fn));
  }
  return code;
}

// Interprets the prepare functions, slowly, in builds that generate no code for this machine.
Status InterpretWeights(const PrepareCode& code, std::span<const PreparedWeight> weights,
                        int threads, std::stop_token stop) {
  return ForEachIndex(weights.size(), threads, [&](size_t i) {
    TCC_RETURN_IF_ERROR(StopIfRequested(stop));
    const Function& fn = code.module.kernels[code.index.at(weights[i].function)];
    std::vector<Tensor> tensors;
    for (const Tensor& constant : weights[i].constants) {
      tensors.push_back(constant);
      tensors.back().shape = {ElementCount(constant.shape).value()};
    }
    const Buffer& result = fn.params.back();
    tensors.push_back(MakeZeroTensor(result.dtype(), {AsConstant(result.shape[0]).value()}));
    TCC_RETURN_IF_ERROR(Interpret(fn, tensors).status());
    std::span<const uint8_t> bytes = tensors.back().bytes;
    TCC_CHECK(std::ssize(bytes) == weights[i].bytes) << weights[i].function;
    std::ranges::copy(bytes, weights[i].result.begin());
    return OkStatus();
  });
}

}  // namespace

Status PrepareWeights(const KernelSet& kernels, std::span<const PreparedWeight> weights,
                      int threads, std::stop_token stop) {
  if (weights.empty()) return OkStatus();
  PrepareCode code = CollectFunctions(kernels, weights);
  if (!HasLlvm()) return InterpretWeights(code, weights, threads, stop);
  TCC_ASSIGN_OR_RETURN(Target host, FindTarget("native"));
  BackendOptions options{.threads = threads, .progress = {}, .stop = stop};
  TCC_ASSIGN_OR_RETURN(CompiledModule compiled,
                       MakeLlvmBackend(host)->Compile(code.module, options));
  std::shared_ptr<const Device> device =
      MakeCpuDevice(std::make_shared<ThreadPool>(ThreadPoolOptions{.threads = 1}));
  Artefact artefact;
  artefact.kernels = OwnBytes(std::move(compiled.image));
  artefact.metadata = code.metadata;
  TCC_ASSIGN_OR_RETURN(LoadedKernels loaded, device->LoadKernels(artefact));
  return ForEachIndex(weights.size(), threads, [&](size_t i) {
    TCC_RETURN_IF_ERROR(StopIfRequested(stop));
    std::vector<void*> buffers;
    std::vector<int64_t> bytes;
    for (const Tensor& constant : weights[i].constants) {
      // Constant parameters are only read.
      buffers.push_back(const_cast<uint8_t*>(constant.bytes.data()));
      bytes.push_back(static_cast<int64_t>(constant.bytes.size()));
    }
    buffers.push_back(weights[i].result.data());
    bytes.push_back(weights[i].bytes);
    return device->Launch(loaded, code.index.at(weights[i].function), {buffers, bytes, {}});
  });
}

}  // namespace tcc
