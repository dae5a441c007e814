#include "compiler/compile_kernels.h"

#include <algorithm>
#include <optional>
#include <string_view>

#include "compiler/devices/reference_device.h"
#include "compiler/make_backend.h"
#include "support/threads.h"

namespace tcc {
namespace {

// The schedules of a kernel tried so far.
struct Attempts {
  std::optional<KernelStages> best;  // compiled with the least fault
  double cost = 0;                   // the cost of that fault
  Status first_refusal;
  bool settled = false;  // no other schedule is left; the best is taken
};

LoweredModule ModuleOf(const KernelSet& kernels) {
  LoweredModule module;
  for (const KernelStages& kernel : kernels.kernels) module.kernels.push_back(kernel.lowered);
  return module;
}

std::vector<Function> TensorsOf(const KernelSet& kernels) {
  std::vector<Function> tensors;
  for (const KernelStages& kernel : kernels.kernels) tensors.push_back(kernel.tensor);
  return tensors;
}

// Returns why the kernel's schedule stays whatever faults its code has; "" if another may replace
// it.
std::string_view ReasonToStay(const KernelStages& kernel, const CompileOptions& options) {
  if (options.schedules.contains(kernel.symbol)) return "given";
  return kernel.tuned ? "measured" : "";
}

// Gives the kernel its next schedule, or its best one if there is no other.
Status TryAnother(const CompiledKernel& compiled, const CompileOptions& options,
                  KernelStages& kernel, Attempts& attempts) {
  if (!compiled.refused.ok()) {
    if (attempts.first_refusal.ok()) attempts.first_refusal = compiled.refused;
  } else if (!attempts.best || compiled.fault_cost < attempts.cost) {
    attempts.best = kernel;
    attempts.cost = compiled.fault_cost;
  }
  TCC_ASSIGN_OR_RETURN(bool another, FinishWithNextChoice(kernel, options));
  if (another) return OkStatus();
  attempts.settled = true;
  if (!attempts.best) return Annotate(attempts.first_refusal, "kernel '" + kernel.symbol + "'");
  kernel = *attempts.best;
  return OkStatus();
}

// Warns of kernels that are kept despite a fault.
void WarnOfFaults(const KernelSet& kernels, const CompiledModule& compiled,
                  const CompileOptions& options) {
  if (!options.warn) return;
  for (size_t i = 0; i < compiled.kernels.size(); ++i) {
    const std::string& fault = compiled.kernels[i].fault;
    if (fault.empty()) continue;
    const KernelStages& kernel = kernels.kernels[i];
    std::string_view reason = ReasonToStay(kernel, options);
    std::string why = reason.empty() ? "for want of a better schedule"
                                     : fmt::format("since its schedule was {}", reason);
    options.warn(fmt::format("kernel '{}' {}; it is kept {}", kernel.symbol, fault, why));
  }
}

// Tells how many kernels needed no compiler.
void NoteCachedKernels(const CompiledModule& compiled, const CompileOptions& options) {
  auto cached = std::ranges::count(compiled.kernels, true, &CompiledKernel::cached);
  if (!options.note || cached == 0) return;
  options.note(fmt::format("machine code of {} of {} kernels was in the cache", cached,
                           compiled.kernels.size()));
}

}  // namespace

StatusOr<CompiledModule> CompileKernels(KernelSet& kernels, const CompileOptions& options) {
  if (options.target.kind == TargetKind::kReference)
    return CompiledModule{ReferenceKernels(TensorsOf(kernels)), {}};
  TCC_ASSIGN_OR_RETURN(std::unique_ptr<Backend> backend,
                       MakeBackend(options.target, {.gpu_code = options.gpu_code}));
  return CompileKernels(kernels, options, *backend);
}

StatusOr<CompiledModule> CompileKernels(KernelSet& kernels, const CompileOptions& options,
                                        Backend& backend) {
  std::string stage = "code";
  BackendOptions backend_options{.threads = options.threads, .progress = {}, .stop = options.stop};
  if (options.progress) {
    backend_options.progress = [&](int64_t done, int64_t total) {
      options.progress(stage, done, total);
    };
  }
  std::vector<Attempts> attempts(kernels.kernels.size());
  for (;;) {
    TCC_ASSIGN_OR_RETURN(CompiledModule compiled,
                         backend.Compile(ModuleOf(kernels), backend_options));
    std::vector<size_t> faulty;
    for (size_t i = 0; i < attempts.size(); ++i) {
      const CompiledKernel& kernel = compiled.kernels[i];
      bool stays = kernel.fault.empty() || !ReasonToStay(kernels.kernels[i], options).empty();
      bool good = kernel.refused.ok() && stays;
      if (!good && !attempts[i].settled) faulty.push_back(i);
    }
    if (faulty.empty()) {
      WarnOfFaults(kernels, compiled, options);
      NoteCachedKernels(compiled, options);
      return compiled;
    }
    stage = "code of other schedules";
    Status status = ForEachIndex(faulty.size(), options.threads, [&](size_t f) {
      size_t i = faulty[f];
      return TryAnother(compiled.kernels[i], options, kernels.kernels[i], attempts[i]);
    });
    TCC_RETURN_IF_ERROR(status);
  }
}

}  // namespace tcc
