#include "cli/bench/bench_report.h"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

#include "cli/bench/percentiles.h"
#include "cli/readable_units.h"
#include "cli/text_table.h"
#include "codegen_llvm/toolchain.h"
#include "runtime/cpu/cpu_features.h"
#include "support/version.h"

namespace tcc {
namespace {

using Json = nlohmann::ordered_json;

// Returns the percentage that the kernel reaches of the peak that bounds it.
double PercentOf(const KernelBound& bound, const KernelTime& time) {
  if (time.seconds <= 0) return 0;
  return bound.seconds * static_cast<double>(time.calls) / time.seconds * 100;
}

double Gflops(const KernelInfo& info, const KernelTime& time) {
  if (time.seconds <= 0) return 0;
  return static_cast<double>(info.flops * time.calls) / time.seconds * 1e-9;
}

Json KernelsJson(const BenchReport& report) {
  const Artefact& artefact = report.module.artefact();
  const Profile& profile = report.profile;
  std::vector<KernelTime> kernels = FastestTimes(profile, artefact.metadata.kernels.size());
  std::vector<KernelBound> bounds = BoundsOf(artefact, profile.peaks);
  std::vector<double> bytes = BytesOfCalls(artefact);
  Json rows = Json::array();
  for (size_t k = 0; k < kernels.size(); ++k) {
    const KernelInfo& info = artefact.metadata.kernels[k];
    rows.push_back({{"name", info.name},
                    {"nodes", info.nodes},
                    {"calls", kernels[k].calls},
                    {"ms", kernels[k].seconds * 1e3},
                    {"flops", info.flops},
                    {"bytes", bytes[k]},
                    {"gflops", Gflops(info, kernels[k])},
                    {"peak", bounds[k].of},
                    {"percent_of_peak", PercentOf(bounds[k], kernels[k])}});
    if (!profile.counters.empty() && profile.counters[k]) {
      rows.back()["counters"] = CountersJson(*profile.counters[k]);
    }
  }
  return rows;
}

// Returns the percentiles by their percentage, null where no run lies beyond.
Json PercentilesJson(const BenchReport& report) {
  Json values = Json::object();
  for (double percent : report.percentiles) {
    Json& value = values[fmt::format("{}", percent)];
    std::optional<double> ms = SupportedPercentile(report.measured.latencies_ms, percent);
    if (ms) value = *ms;
  }
  return values;
}

// Returns the number of all threads that run kernels.
int AllThreads(const BenchReport& report) {
  return report.threads * static_cast<int>(report.measured.runs.size());
}

// Returns what the times depend on beside the model. The CPU's name is the system's, else LLVM's.
Json EnvironmentJson(const BenchReport& report) {
  std::string cpu = CpuModelName();
  Json environment = {{"cpu", cpu.empty() ? HostCpuName() : cpu},
                      {"threads", AllThreads(report)},
                      {"version", kVersion},
                      {"percent_of_others", nullptr}};
  if (report.percent_of_others) environment["percent_of_others"] = *report.percent_of_others;
  const std::string& gpu = report.module.kernels().gpu;
  if (!gpu.empty()) environment["gpu"] = gpu;
  return environment;
}

void PrintPercentiles(const BenchReport& report) {
  const std::vector<double>& latencies = report.measured.latencies_ms;
  fmt::print("{:>10} {:>12} {:>12}\n", "percentile", "ms", "runs beyond");
  for (double percent : report.percentiles) {
    std::optional<double> ms = SupportedPercentile(latencies, percent);
    fmt::print("{:>10} {:>12} {:>12}\n", fmt::format("p{}", percent),
               ms ? ReadableMilliseconds(*ms * 1e-3, 3) : "-",
               CountBeyond(latencies.size(), percent));
  }
}

void PrintThroughput(const BenchReport& report) {
  std::string asked;
  if (report.load.rate > 0) {
    asked = fmt::format(" of {} that arrive", ReadableNumber(report.load.rate));
  }
  fmt::print("throughput {} runs/s{}, {} x {}\n", ReadableNumber(report.measured.Throughput()),
             asked, Counted(report.measured.runs.size(), "stream"),
             Counted(static_cast<size_t>(report.threads), "thread"));
}

// Returns "512 GFLOP/s fma, 2048 f16 mma, 16 GB/s"; "unknown" where nothing is known.
std::string PeaksText(const DevicePeaks& peaks) {
  if (peaks.fma_gflops == 0) return "unknown";
  std::string text = fmt::format("{:.0f} GFLOP/s fma", peaks.fma_gflops);
  for (const auto& [type, gflops] : peaks.mma_gflops) {
    text += fmt::format(", {:.0f} {} mma", gflops, type);
  }
  if (peaks.memory_gbytes > 0) text += fmt::format(", {:.0f} GB/s", peaks.memory_gbytes);
  return text;
}

std::string PercentText(double percent) {
  return std::isnan(percent) ? "-" : fmt::format("{:.1f}%", percent);
}

// Prints the counters in the order of the table above them.
void PrintCounters(const Metadata& metadata, const Profile& profile,
                   const std::vector<size_t>& order) {
  if (profile.counters.empty()) return;
  fmt::print("{:>9} {:>9} {:>7} {:>7} {:>7} {:>7}  kernel, by its counters\n", "MB read", "written",
             "L2 hit", "warps", "tensor", "fma");
  for (size_t k : order) {
    if (!profile.counters[k]) continue;
    const KernelCounters& counters = *profile.counters[k];
    fmt::print("{:9.3f} {:9.3f} {:>7} {:>7} {:>7} {:>7}  {}\n", counters.read_bytes * 1e-6,
               counters.written_bytes * 1e-6, PercentText(counters.l2_hit_percent),
               PercentText(counters.occupancy_percent), PercentText(counters.tensor_percent),
               PercentText(counters.fma_percent), metadata.kernels[k].name);
  }
}

void PrintProfile(const BenchReport& report) {
  const Artefact& artefact = report.module.artefact();
  const Metadata& metadata = artefact.metadata;
  const Profile& profile = report.profile;
  std::vector<KernelTime> kernels = FastestTimes(profile, metadata.kernels.size());
  std::vector<KernelBound> bounds = BoundsOf(artefact, profile.peaks);
  double total = 0;
  for (const KernelTime& kernel : kernels) total += kernel.seconds;
  std::vector<size_t> order(kernels.size());
  for (size_t k = 0; k < order.size(); ++k) order[k] = k;
  std::ranges::stable_sort(
      order, [&](size_t a, size_t b) { return kernels[a].seconds > kernels[b].seconds; });
  fmt::print("kernels timed by {}; peaks {}\n", profile.timer, PeaksText(profile.peaks));
  fmt::print("{:>9} {:>6} {:>5} {:>8} {:>6} {:<12}  kernel: nodes\n", "ms", "share", "calls",
             "GFLOP/s", "% peak", "of");
  for (size_t k : order) {
    const KernelInfo& info = metadata.kernels[k];
    fmt::print("{:>9} {:5.1f}% {:5} {:8.1f} {:6.1f} {:<12}  {}: {}\n",
               ReadableMilliseconds(kernels[k].seconds, 4),
               total > 0 ? kernels[k].seconds / total * 100 : 0, kernels[k].calls,
               Gflops(info, kernels[k]), PercentOf(bounds[k], kernels[k]), bounds[k].of, info.name,
               NamesText(info.nodes));
  }
  PrintCounters(metadata, profile, order);
}

}  // namespace

void PrintText(const BenchReport& report, bool with_kernels) {
  const std::vector<double>& latencies = report.measured.latencies_ms;
  auto ms = [](double value) { return ReadableMilliseconds(value * 1e-3, 3) + " ms"; };
  fmt::print("{} runs, {} threads: min {}, median {}, p90 {}, p99 {}\n", latencies.size(),
             AllThreads(report), ms(latencies.front()), ms(Median(latencies)),
             ms(Percentile(latencies, 90)), ms(Percentile(latencies, 99)));
  if (!report.size.empty()) {
    fmt::print("inputs of {}\n", SizeText(report.module.metadata(), report.size));
  }
  PrintPercentiles(report);
  PrintThroughput(report);
  if (with_kernels) PrintProfile(report);
}

void PrintJson(const BenchReport& report, bool with_peaks) {
  const Artefact& artefact = report.module.artefact();
  const Profile& profile = report.profile;
  const std::vector<double>& latencies = report.measured.latencies_ms;
  Json result = {{"schema", "tcc.bench/1"},
                 {"model", artefact.metadata.model},
                 {"target", artefact.target},
                 {"threads", AllThreads(report)},
                 {"iterations", report.load.iterations},
                 {"min_ms", latencies.front()},
                 {"median_ms", Median(latencies)},
                 {"p90_ms", Percentile(latencies, 90)},
                 {"p99_ms", Percentile(latencies, 99)},
                 {"max_ms", latencies.back()},
                 {"samples", latencies.size()},
                 {"percentiles", PercentilesJson(report)},
                 {"throughput_per_s", report.measured.Throughput()},
                 {"stream_runs", report.measured.runs},
                 {"rate_per_s", nullptr},
                 {"warm_up_ms", report.load.warm_up_ms},
                 {"environment", EnvironmentJson(report)},
                 {"kernels", KernelsJson(report)}};
  if (!report.size.empty()) result["size"] = SizeText(artefact.metadata, report.size);
  if (report.load.rate > 0) result["rate_per_s"] = report.load.rate;
  if (with_peaks) {
    result["kernel_timer"] = profile.timer;
    result["peak_gflops"] = profile.peaks.fma_gflops;
    result["peak_mma_gflops"] = Json::object();
    for (const auto& [type, gflops] : profile.peaks.mma_gflops) {
      result["peak_mma_gflops"][type] = gflops;
    }
    result["peak_gbytes"] = profile.peaks.memory_gbytes;
  }
  if (!profile.counters_missing.empty()) result["counters_missing"] = profile.counters_missing;
  fmt::print("{}\n", result.dump(2));
}

}  // namespace tcc
