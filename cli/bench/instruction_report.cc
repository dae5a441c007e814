#include "cli/bench/instruction_report.h"

#include <fmt/core.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <numeric>

#include "cli/print_json.h"
#include "cli/text_table.h"
#include "compiler/devices/foreign_cpu_device.h"

namespace tcc {
namespace {

using Json = nlohmann::ordered_json;

// Returns the share of a core's vector instructions in the counts' cycles that multiply and add.
double PercentOfPeak(const InstructionCounts& counts, const CoreRates& core) {
  const double cycles = CyclesOf(counts, core);
  if (cycles <= 0) return 0;
  const auto multiplies = static_cast<double>(counts[InstructionClass::kMultiplies]);
  return multiplies / (core.vector * cycles) * 100;
}

Json RowJson(const CountedKernel& kernel, const CoreRates& core) {
  Json row = {{"calls", kernel.calls}};
  for (size_t c = 0; c < kInstructionClasses; ++c) {
    row[std::string(NameOf(static_cast<InstructionClass>(c)))] = kernel.counts.of[c];
  }
  row["cycles"] = CyclesOf(kernel.counts, core);
  row["percent_of_peak"] = PercentOfPeak(kernel.counts, core);
  return row;
}

void PrintRow(const CountedKernel& kernel, const CoreRates& core, const std::string& name) {
  const InstructionCounts& counts = kernel.counts;
  fmt::print("{:>14} {:>13} {:>13} {:>13} {:>12} {:>14} {:>14.0f} {:6.1f}  {}\n",
             counts[InstructionClass::kAll], counts[InstructionClass::kVector],
             counts[InstructionClass::kLoads], counts[InstructionClass::kStores],
             counts[InstructionClass::kBranches], counts[InstructionClass::kMultiplyAdds],
             CyclesOf(counts, core), PercentOfPeak(counts, core), name);
}

CountedKernel SumOf(const std::vector<CountedKernel>& kernels) {
  CountedKernel sum;
  for (const CountedKernel& kernel : kernels) {
    sum.calls += kernel.calls;
    sum.counts += kernel.counts;
  }
  return sum;
}

Json ReportJson(const Artefact& artefact, const std::vector<CountedKernel>& kernels,
                const CoreRates& core) {
  Json rows = Json::array();
  for (size_t k = 0; k < kernels.size(); ++k) {
    const KernelInfo& info = artefact.metadata.kernels[k];
    Json row = {{"name", info.name}, {"nodes", info.nodes}, {"flops", info.flops}};
    row.update(RowJson(kernels[k], core));
    rows.push_back(std::move(row));
  }
  return {{"schema", "tcc.instructions/1"}, {"model", artefact.metadata.model},
          {"target", artefact.target},      {"core", core.name},
          {"kernels", std::move(rows)},     {"total", RowJson(SumOf(kernels), core)}};
}

}  // namespace

StatusOr<std::vector<CountedKernel>> CountInstructions(Executor& executor,
                                                       const std::function<Status()>& run) {
  const Module& module = executor.module();
  std::vector<CountedKernel> kernels(module.metadata().kernels.size());
  bool counted = true;
  executor.set_call_hook([&](const EndedCall& ended) {
    std::optional<InstructionCounts> counts = CountsOfLastLaunch(module);
    counted = counted && counts;
    ++kernels[ended.call.kernel].calls;
    if (counts) kernels[ended.call.kernel].counts += *counts;
  });
  Status status = run();
  executor.set_call_hook({});
  TCC_RETURN_IF_ERROR(status);
  if (!counted) return Missing("the worker counts no instructions; expected one under qemu-user");
  return kernels;
}

void PrintInstructions(const Artefact& artefact, const std::vector<CountedKernel>& kernels,
                       const CoreRates& core, bool json) {
  if (json) return PrintJson(ReportJson(artefact, kernels, core));
  std::vector<size_t> order(kernels.size());
  std::iota(order.begin(), order.end(), 0);
  std::ranges::stable_sort(order, std::greater<>(),
                           [&](size_t k) { return CyclesOf(kernels[k].counts, core); });
  fmt::print("instructions of one run for {}, cycles at the rates of {}\n", artefact.target,
             core.name);
  fmt::print("{:>14} {:>13} {:>13} {:>13} {:>12} {:>14} {:>14} {:>6}  kernel: nodes\n",
             "instructions", "vector", "loads", "stores", "branches", "multiply-adds", "cycles",
             "% peak");
  for (size_t k : order) {
    const KernelInfo& info = artefact.metadata.kernels[k];
    PrintRow(kernels[k], core, fmt::format("{}: {}", info.name, NamesText(info.nodes)));
  }
  PrintRow(SumOf(kernels), core, "all");
}

}  // namespace tcc
