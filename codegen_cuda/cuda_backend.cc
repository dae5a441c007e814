#include "codegen_cuda/cuda_backend.h"

#include <algorithm>
#include <mutex>

#include "codegen_cuda/cubin/disassemble.h"
#include "codegen_cuda/kernel_facts.h"
#include "codegen_cuda/nvrtc/cuda_programs.h"
#include "codegen_cuda/text/cuda_source.h"
#include "codegen_cuda/text/gpu_kernel.h"
#include "codegen_cuda/text/prelude.h"
#include "support/check.h"
#include "support/stop.h"
#include "support/threads.h"

namespace tcc {
namespace {

// A kernel's name comes from its model, where it may be a word of C++ or a function of CUDA.
Function WithPrefix(Function fn) {
  fn.name = "k_" + fn.name;
  return fn;
}

// The text of one kernel without the prelude, and its launches.
struct KernelCode {
  std::string text;
  LaunchPlan plan;
};

StatusOr<KernelCode> CodeOf(const Function& fn, const Target& target) {
  Function named = WithPrefix(fn);
  TCC_ASSIGN_OR_RETURN(CudaSource source, EmitCuda({&named, 1}, target));
  return KernelCode{source.text.substr(CudaPrelude().size()), std::move(source.plans[0])};
}

class CudaBackend final : public Backend {
 public:
  CudaBackend(const Target& target, const CudaBackendOptions& options)
      : target_(target),
        code_(options.code),
        candidates_(options.candidates),
        programs_(target, {.cache_folder = options.cache_folder, .keep = !options.candidates}) {}

  StatusOr<CompiledModule> Compile(const LoweredModule& module,
                                   const BackendOptions& options) override {
    CompiledModule compiled;
    compiled.kernels.resize(module.kernels.size());
    std::vector<KernelCode> kernels(module.kernels.size());
    Status status = ForEachIndex(kernels.size(), options.threads, [&](size_t i) {
      TCC_RETURN_IF_ERROR(StopIfRequested(options.stop));
      StatusOr<KernelCode> code = CodeOf(module.kernels[i], target_);
      compiled.kernels[i].refused = code.status();
      if (code.ok()) kernels[i] = *std::move(code);
      return OkStatus();
    });
    TCC_RETURN_IF_ERROR(status);
    if (AnyRefused(compiled)) return compiled;
    std::vector<std::vector<size_t>> groups = GroupsOf(kernels);
    GpuProgram program{.sm = target_.sm, .code = code_, .images = {}, .kernels = {}};
    TCC_ASSIGN_OR_RETURN(program.images, ImagesOf(groups, kernels, options, compiled));
    if (AnyRefused(compiled)) return compiled;
    program.kernels.resize(kernels.size());
    for (size_t g = 0; g < groups.size(); ++g) {
      for (size_t i : groups[g]) {
        program.kernels[i] =
            GpuKernelOf(module.kernels[i], kernels[i].plan, static_cast<uint32_t>(g));
      }
    }
    compiled.image = GpuProgramBytes(program);
    return compiled;
  }

  StatusOr<std::string> Emit(const LoweredModule& module, const std::string& stage) override {
    std::vector<Function> kernels;
    for (const Function& kernel : module.kernels) kernels.push_back(WithPrefix(kernel));
    TCC_ASSIGN_OR_RETURN(CudaSource source, EmitCuda(kernels, target_));
    if (stage == "source") return source.text;
    if (stage == "ptx") return programs_.CompileToPtx(source.text);
    if (stage != "asm") return UsageError("target '{}' has no stage '{}'", target_.name, stage);
    TCC_ASSIGN_OR_RETURN(std::string disassembler, FindDisassembler());
    TCC_ASSIGN_OR_RETURN(std::shared_ptr<const Cubin> cubin, programs_.Compile(source.text));
    return Disassemble(disassembler, cubin->image);
  }

 private:
  static bool AnyRefused(const CompiledModule& compiled) {
    for (const CompiledKernel& kernel : compiled.kernels) {
      if (!kernel.refused.ok()) return true;
    }
    return false;
  }

  static std::vector<std::vector<size_t>> GroupsOf(const std::vector<KernelCode>& kernels) {
    std::vector<KernelTextInfo> infos;
    for (const KernelCode& kernel : kernels) {
      KernelTextInfo& info = infos.emplace_back();
      info.bytes = kernel.text.size();
      for (const Launch& launch : kernel.plan.launches) info.symbols.push_back(launch.kernel);
    }
    return GroupKernels(infos);
  }

  static std::string ProgramText(const std::vector<size_t>& group,
                                 const std::vector<KernelCode>& kernels) {
    std::string text(CudaPrelude());
    for (size_t i : group) text += kernels[i].text;
    return text;
  }

  // Compiles one image per group, and marks the kernels that NVRTC refuses.
  StatusOr<std::vector<GpuImage>> ImagesOf(const std::vector<std::vector<size_t>>& groups,
                                           std::vector<KernelCode>& kernels,
                                           const BackendOptions& options,
                                           CompiledModule& compiled) {
    std::vector<GpuImage> images(groups.size());
    std::mutex mutex;
    int64_t done = 0;
    if (options.progress) options.progress(0, static_cast<int64_t>(groups.size()));
    Status status = ForEachIndex(groups.size(), options.threads, [&](size_t g) {
      TCC_RETURN_IF_ERROR(StopIfRequested(options.stop));
      TCC_RETURN_IF_ERROR(CompileGroup(groups[g], kernels, compiled, images[g]));
      std::lock_guard lock(mutex);
      if (options.progress) options.progress(++done, static_cast<int64_t>(groups.size()));
      return OkStatus();
    });
    TCC_RETURN_IF_ERROR(status);
    return images;
  }

  Status CompileGroup(const std::vector<size_t>& group, std::vector<KernelCode>& kernels,
                      CompiledModule& compiled, GpuImage& image) {
    std::string text = ProgramText(group, kernels);
    if (code_ == GpuCode::kCudaText) {
      image.code.assign(text.begin(), text.end());
      return OkStatus();
    }
    StatusOr<std::shared_ptr<const Cubin>> cubin = programs_.Compile(text);
    if (!cubin.ok()) return RefuseSome(group, kernels, cubin.status(), compiled);
    image.code = (*cubin)->image;
    if (IsPortable()) image.ptx.assign((*cubin)->ptx.begin(), (*cubin)->ptx.end());
    for (size_t i : group) {
      TCC_ASSIGN_OR_RETURN(std::vector<LaunchFacts> facts,
                           FactsOfLaunches(kernels[i].plan, **cubin, target_.sm));
      DescribeKernel(facts, target_.sm, compiled.kernels[i]);
      compiled.kernels[i].compiler = (*cubin)->settings;
      compiled.kernels[i].cached = (*cubin)->cached;
      // TCC_INPUT promises that no one writes the buffer while the kernel runs, so the compiler may
      // move a load in front of the wait: the code decides, not the text.
      for (size_t l = 0; l < facts.size(); ++l) {
        kernels[i].plan.launches[l].waits = facts[l].code.facts.waits;
      }
    }
    return OkStatus();
  }

  // Finds the kernels of a program that NVRTC refuses.
  Status RefuseSome(const std::vector<size_t>& group, std::vector<KernelCode>& kernels,
                    const Status& status, CompiledModule& compiled) {
    if (status.code() != absl::StatusCode::kInternal) return status;
    if (group.size() == 1) {
      compiled.kernels[group[0]].refused = status;
      return OkStatus();
    }
    for (size_t i : group) {
      GpuImage ignored;
      TCC_RETURN_IF_ERROR(CompileGroup({i}, kernels, compiled, ignored));
    }
    bool all_compile =
        std::ranges::all_of(group, [&](size_t i) { return compiled.kernels[i].refused.ok(); });
    return all_compile ? status : OkStatus();
  }

  // PTX for sm_90a runs on no newer device.
  bool IsPortable() const { return !candidates_ && target_.name.back() != 'a'; }

  Target target_;
  GpuCode code_;
  bool candidates_;
  CudaPrograms programs_;
};

}  // namespace

std::unique_ptr<Backend> MakeCudaBackend(const Target& target, const CudaBackendOptions& options) {
  return std::make_unique<CudaBackend>(target, options);
}

}  // namespace tcc
