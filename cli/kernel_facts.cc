#include "cli/kernel_facts.h"

namespace tcc {
std::vector<const PlanCall*> CallsOf(const Plan& plan) {
  std::vector<const PlanCall*> calls;
  ForEachInstruction(plan.body, [&](const Instruction& instruction) {
    if (const auto* call = std::get_if<PlanCall>(&instruction.op)) calls.push_back(call);
  });
  return calls;
}

std::vector<int64_t> CallsOfKernels(const Artefact& artefact) {
  std::vector<int64_t> counts(artefact.metadata.kernels.size());
  for (const PlanCall* call : CallsOf(artefact.plan)) ++counts[call->kernel];
  return counts;
}

std::optional<int64_t> StatisticOf(const KernelInfo& kernel, std::string_view key) {
  for (const auto& [name, value] : kernel.statistics) {
    if (name == key) return value;
  }
  return std::nullopt;
}

}  // namespace tcc
