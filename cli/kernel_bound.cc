#include "cli/kernel_bound.h"

#include <algorithm>
#include <optional>
#include <set>

#include "cli/kernel_facts.h"

namespace tcc {
namespace {

// Returns the name and the peak of the instructions that a kernel multiplies with.
std::pair<std::string, double> ArithmeticOf(const KernelInfo& kernel, const DevicePeaks& peaks,
                                            bool three_products) {
  std::pair<std::string, double> most = {"fma", peaks.fma_gflops};
  int64_t instructions = 0;
  for (const auto& [type, gflops] : peaks.mma_gflops) {
    int64_t of_type = StatisticOf(kernel, "mma_" + type).value_or(0);
    if (of_type <= instructions) continue;
    instructions = of_type;
    bool divides = three_products && type == "tf32";
    most = {type + (divides ? " mma / 3" : " mma"), divides ? gflops / 3 : gflops};
  }
  // The kernel multiplies on tensor cores in a type for which the device has no known peak.
  bool unknown = instructions == 0 && StatisticOf(kernel, "tensor_instructions").value_or(0) > 0;
  return unknown ? std::pair<std::string, double>() : most;
}

}  // namespace

std::vector<double> BytesOfCalls(const Artefact& artefact) {
  const Plan& plan = artefact.plan;
  std::vector<double> whole(artefact.metadata.kernels.size());  // of all calls
  for (const PlanCall* call : CallsIn(plan.body)) {
    for (BufferId id : std::set<BufferId>(call->buffers.begin(), call->buffers.end())) {
      whole[call->kernel] += static_cast<double>(plan.buffers[id].bytes.AsConstant().value_or(0));
    }
  }
  std::vector<int64_t> calls = CallsOfKernels(artefact);
  std::vector<double> bytes;
  for (size_t k = 0; k < whole.size(); ++k) {
    double mean = whole[k] / static_cast<double>(std::max<int64_t>(calls[k], 1));
    std::optional<int64_t> part = StatisticOf(artefact.metadata.kernels[k], "moved_bytes");
    bytes.push_back(part ? std::min(mean, static_cast<double>(*part)) : mean);
  }
  return bytes;
}

std::vector<KernelBound> BoundsOf(const Artefact& artefact, const DevicePeaks& peaks) {
  const Metadata& metadata = artefact.metadata;
  bool three_products = PropertyOf(metadata, "numeric") == "3xtf32";
  std::vector<double> bytes = BytesOfCalls(artefact);
  std::vector<KernelBound> bounds;
  for (size_t k = 0; k < metadata.kernels.size(); ++k) {
    const KernelInfo& kernel = metadata.kernels[k];
    auto [instructions, gflops] = ArithmeticOf(kernel, peaks, three_products);
    KernelBound bound;
    if (gflops > 0 && kernel.flops > 0) {
      bound = {instructions, static_cast<double>(kernel.flops) / gflops * 1e-9};
    }
    double moving = peaks.memory_gbytes > 0 ? bytes[k] / peaks.memory_gbytes * 1e-9 : 0;
    if (moving > bound.seconds) bound = {"memory", moving};
    bounds.push_back(std::move(bound));
  }
  return bounds;
}

}  // namespace tcc
