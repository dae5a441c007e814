#include "codegen_opencl/opencl_backend.h"

#include <algorithm>
#include <utility>

#include "codegen_cuda/nvrtc/cuda_programs.h"
#include "codegen_cuda/text/gpu_kernel.h"
#include "codegen_cuda/text/kernel_source.h"
#include "codegen_opencl/opencl_dialect.h"
#include "codegen_opencl/opencl_prelude.h"
#include "support/stop.h"
#include "support/threads.h"

namespace tcc {
namespace {

// A kernel's name comes from its model, where it may be a word of the language.
Function WithPrefix(Function fn) {
  fn.name = "k_" + fn.name;
  return fn;
}

// Emits one kernel. All memory of a block is declared in the text: nothing is left to ask for.
StatusOr<KernelsSource> SourceOf(const Function& fn, const Target& target) {
  const Function named = WithPrefix(fn);
  TCC_ASSIGN_OR_RETURN(KernelsSource source, EmitKernels({&named, 1}, target, kOpenClDialect));
  for (Launch& launch : source.plans[0].launches) {
    launch.static_shared_bytes += std::exchange(launch.dynamic_shared_bytes, 0);
  }
  return source;
}

// Groups kernels whose texts share an image: building one takes a driver longer than its kernels.
std::vector<std::vector<size_t>> GroupsOf(const std::vector<KernelsSource>& kernels) {
  std::vector<KernelTextInfo> infos;
  for (const KernelsSource& kernel : kernels) {
    KernelTextInfo& info = infos.emplace_back();
    info.bytes = kernel.text.size();
    for (const Launch& launch : kernel.plans[0].launches) info.symbols.push_back(launch.kernel);
  }
  return GroupKernels(infos);
}

class OpenClBackend final : public Backend {
 public:
  explicit OpenClBackend(const Target& target) : target_(target) {}

  StatusOr<CompiledModule> Compile(const LoweredModule& module,
                                   const BackendOptions& options) override {
    CompiledModule compiled;
    compiled.kernels.resize(module.kernels.size());
    std::vector<KernelsSource> kernels(module.kernels.size());
    Status status = ForEachIndex(kernels.size(), options.threads, [&](size_t i) {
      TCC_RETURN_IF_ERROR(StopIfRequested(options.stop));
      StatusOr<KernelsSource> source = SourceOf(module.kernels[i], target_);
      compiled.kernels[i].refused = source.status();
      if (source.ok()) kernels[i] = *std::move(source);
      return OkStatus();
    });
    TCC_RETURN_IF_ERROR(status);
    const bool refused = std::ranges::any_of(
        compiled.kernels, [](const CompiledKernel& kernel) { return !kernel.refused.ok(); });
    if (refused) return compiled;
    compiled.image = GpuProgramBytes(ProgramOf(module, kernels));
    if (options.progress) options.progress(std::ssize(kernels), std::ssize(kernels));
    return compiled;
  }

  StatusOr<std::string> Emit(const LoweredModule& module, const std::string& stage) override {
    if (stage != "source") return UsageError("target '{}' has no stage '{}'", target_.name, stage);
    std::string kernels;
    for (const Function& kernel : module.kernels) {
      TCC_ASSIGN_OR_RETURN(KernelsSource source, SourceOf(kernel, target_));
      kernels += source.text;
    }
    return OpenClPrelude(kernels) + kernels;
  }

 private:
  static GpuProgram ProgramOf(const LoweredModule& module,
                              const std::vector<KernelsSource>& kernels) {
    GpuProgram program{.sm = 0, .code = GpuCode::kOpenClText, .images = {}, .kernels = {}};
    program.kernels.resize(kernels.size());
    for (const std::vector<size_t>& group : GroupsOf(kernels)) {
      const auto image = static_cast<uint32_t>(program.images.size());
      std::string text;
      for (size_t i : group) {
        text += kernels[i].text;
        program.kernels[i] = GpuKernelOf(module.kernels[i], kernels[i].plans[0], image);
      }
      text.insert(0, OpenClPrelude(text));
      program.images.push_back({.code = {text.begin(), text.end()}});
    }
    return program;
  }

  Target target_;
};

}  // namespace

std::unique_ptr<Backend> MakeOpenClBackend(const Target& target) {
  return std::make_unique<OpenClBackend>(target);
}

}  // namespace tcc
