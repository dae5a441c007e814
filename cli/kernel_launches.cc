#include "cli/kernel_launches.h"

#include "runtime/artefact/artefact_device.h"
#include "runtime/executor/run_sizes.h"

namespace tcc {

StatusOr<std::optional<GpuProgram>> GpuProgramOf(const Artefact& artefact) {
  if (!IsGpuDevice(artefact.device)) return std::nullopt;
  TCC_ASSIGN_OR_RETURN(GpuProgram program, ParseGpuProgram(artefact.kernels.bytes));
  TCC_RETURN_IF_ERROR(VerifyGpuProgram(program, artefact.metadata));
  return program;
}

StatusOr<std::optional<std::vector<int64_t>>> LaunchesOfKernels(const Artefact& artefact,
                                                                const GpuProgram& program) {
  TCC_ASSIGN_OR_RETURN(std::shared_ptr<const RunSizes> usual,
                       RunSizesByShape(artefact.plan).For(artefact.metadata.UsualSizes()));
  std::optional<std::vector<RepeatedStep>> steps = StepsOfRun(artefact.plan, usual->variables);
  if (!steps) return std::nullopt;
  constexpr int64_t kMostCounted = int64_t{1} << 53;  // JSON's numbers are exact up to there
  std::vector<int64_t> counts(program.kernels.size());
  int64_t total = 0;
  for (const RepeatedStep& step : *steps) {
    const auto* call = std::get_if<PlanCall>(&step.step->op);
    if (call == nullptr) continue;
    const auto parts = static_cast<int64_t>(program.kernels[call->kernel].launches.size());
    if (parts > 0 && step.times > (kMostCounted - total) / parts) return std::nullopt;
    counts[call->kernel] += step.times * parts;
    total += step.times * parts;
  }
  return counts;
}

}  // namespace tcc
