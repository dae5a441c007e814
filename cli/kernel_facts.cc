#include "cli/kernel_facts.h"

#include <fmt/ranges.h>

namespace tcc {

std::vector<int64_t> CallsOfKernels(const Artefact& artefact) {
  std::vector<int64_t> counts(artefact.metadata.kernels.size());
  for (const PlanCall* call : CallsIn(artefact.plan.body)) ++counts[call->kernel];
  return counts;
}

std::string TypesText(const std::vector<TensorInfo>& tensors, const Metadata& metadata) {
  std::vector<std::string> texts;
  for (const TensorInfo& info : tensors) {
    texts.push_back(info.name + " " + TypeText(info, metadata));
  }
  return fmt::format("{}", fmt::join(texts, ", "));
}

std::optional<int64_t> StatisticOf(const KernelInfo& kernel, std::string_view key) {
  for (const auto& [name, value] : kernel.statistics) {
    if (name == key) return value;
  }
  return std::nullopt;
}

}  // namespace tcc
