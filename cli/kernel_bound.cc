#include "cli/kernel_bound.h"

#include <algorithm>
#include <optional>
#include <set>
#include <string_view>

namespace tcc {
namespace {

struct Moved {
  double bytes = 0;
  int64_t calls = 0;
};

void AddCalls(const Plan& plan, std::vector<Moved>& moved) {
  ForEachInstruction(plan.body, [&](const Instruction& instruction) {
    const auto* call = std::get_if<PlanCall>(&instruction.op);
    if (call == nullptr) return;
    Moved& of_kernel = moved[call->kernel];
    ++of_kernel.calls;
    for (BufferId id : std::set<BufferId>(call->buffers.begin(), call->buffers.end())) {
      of_kernel.bytes += static_cast<double>(plan.buffers[id].bytes.AsConstant().value_or(0));
    }
  });
}

std::optional<int64_t> StatisticOf(const KernelInfo& kernel, std::string_view key) {
  for (const auto& [name, value] : kernel.statistics) {
    if (name == key) return value;
  }
  return std::nullopt;
}

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
  std::vector<Moved> moved(artefact.metadata.kernels.size());
  AddCalls(artefact.plan, moved);
  std::vector<double> bytes;
  for (size_t k = 0; k < moved.size(); ++k) {
    double whole = moved[k].bytes / static_cast<double>(std::max<int64_t>(moved[k].calls, 1));
    std::optional<int64_t> part = StatisticOf(artefact.metadata.kernels[k], "moved_bytes");
    bytes.push_back(part ? std::min(whole, static_cast<double>(*part)) : whole);
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
