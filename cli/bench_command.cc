#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <memory>
#include <nlohmann/json.hpp>
#include <span>

#include "cli/command.h"
#include "cli/profile.h"
#include "cli/standard_error.h"
#include "cli/text_table.h"
#include "cli/threads_option.h"
#include "compiler/check/random_inputs.h"
#include "compiler/devices/reference_device.h"
#include "runtime/executor/aligned_memory.h"
#include "runtime/executor/binding.h"
#include "runtime/executor/executor.h"
#include "support/file.h"
#include "support/stopwatch.h"

namespace tcc {
namespace {

// The number of runs in which caches, clock and pages warm up.
constexpr int kWarmUpRuns = 3;
constexpr int kProfiledRuns = 10;

struct BenchCommand {
  std::string artefact;
  int iterations = 50;
  int threads = 0;
  bool profile = false;
  bool counters = false;
  std::string trace;
  bool json = false;
};

// An executor with the tensors that every run reads and writes.
struct Bench {
  Executor executor;
  std::vector<Tensor> inputs;
  std::vector<Tensor> outputs;

  Status Run() { return executor.RunInto(inputs, outputs); }
};

StatusOr<Bench> Prepare(const BenchCommand& command) {
  LoadOptions load;
  load.threads = ThreadCount(command.threads);
  load.devices = AllDevices();
  TCC_ASSIGN_OR_RETURN(Module module, Module::Load(command.artefact, load));
  const Metadata& metadata = module.metadata();
  TCC_ASSIGN_OR_RETURN(std::vector<Tensor> inputs, RandomInputs(metadata, 0));
  TCC_ASSIGN_OR_RETURN(std::vector<int64_t> variables, BindInputs(metadata, inputs));
  std::vector<Tensor> outputs;
  for (const TensorInfo& info : metadata.outputs) {
    TCC_ASSIGN_OR_RETURN(std::vector<int64_t> shape, ShapeOf(info, variables));
    TCC_ASSIGN_OR_RETURN(Tensor tensor,
                         AllocateTensor(info.dtype, shape, "output '" + info.name + "'"));
    outputs.push_back(std::move(tensor));
  }
  return Bench{Executor(module), std::move(inputs), std::move(outputs)};
}

// Returns the milliseconds of each run, ascending.
StatusOr<std::vector<double>> Measure(Bench& bench, int iterations) {
  for (int i = 0; i < kWarmUpRuns; ++i) TCC_RETURN_IF_ERROR(bench.Run());
  std::vector<double> times;
  for (int i = 0; i < iterations; ++i) {
    Stopwatch stopwatch;
    TCC_RETURN_IF_ERROR(bench.Run());
    times.push_back(1e3 * stopwatch.Seconds());
  }
  std::ranges::sort(times);
  return times;
}

// Returns the percentile by nearest rank.
double Percentile(const std::vector<double>& sorted, double percent) {
  auto rank = static_cast<size_t>(std::ceil(percent / 100 * static_cast<double>(sorted.size())));
  return sorted[std::max<size_t>(rank, 1) - 1];
}

double Median(const std::vector<double>& sorted) {
  size_t middle = sorted.size() / 2;
  return sorted.size() % 2 == 1 ? sorted[middle] : (sorted[middle - 1] + sorted[middle]) / 2;
}

// Returns the percentage that the kernel reaches of the peak that bounds it.
double PercentOf(const KernelBound& bound, const KernelTime& time) {
  if (time.seconds <= 0) return 0;
  return bound.seconds * static_cast<double>(time.calls) / time.seconds * 100;
}

double Gflops(const KernelInfo& info, const KernelTime& time) {
  if (time.seconds <= 0) return 0;
  return static_cast<double>(info.flops * time.calls) / time.seconds * 1e-9;
}

void PrintJson(const BenchCommand& command, const Bench& bench, const std::vector<double>& times,
               const Profile& profile, const std::vector<KernelTime>& kernels) {
  const Module& module = bench.executor.module();
  std::vector<KernelBound> bounds = BoundsOf(module.artefact(), profile.peaks);
  std::vector<double> bytes = BytesOfCalls(module.artefact());
  nlohmann::ordered_json rows = nlohmann::ordered_json::array();
  for (size_t k = 0; k < kernels.size(); ++k) {
    const KernelInfo& info = module.metadata().kernels[k];
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
  nlohmann::ordered_json result = {{"model", module.metadata().model},
                                   {"target", module.artefact().target},
                                   {"threads", module.pool()->threads()},
                                   {"iterations", command.iterations},
                                   {"min_ms", times.front()},
                                   {"median_ms", Median(times)},
                                   {"p90_ms", Percentile(times, 90)},
                                   {"p99_ms", Percentile(times, 99)},
                                   {"kernels", rows}};
  if (command.profile) {
    result["kernel_timer"] = profile.timer;
    result["peak_gflops"] = profile.peaks.fma_gflops;
    result["peak_mma_gflops"] = nlohmann::ordered_json::object();
    for (const auto& [type, gflops] : profile.peaks.mma_gflops) {
      result["peak_mma_gflops"][type] = gflops;
    }
    result["peak_gbytes"] = profile.peaks.memory_gbytes;
  }
  if (!profile.counters_missing.empty()) result["counters_missing"] = profile.counters_missing;
  fmt::print("{}\n", result.dump(2));
}

// Returns "512 GFLOP/s fma, 2048 f16 mma, 16 GB/s".
std::string PeaksText(const DevicePeaks& peaks) {
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

void PrintProfile(const Artefact& artefact, const Profile& profile,
                  const std::vector<KernelTime>& kernels) {
  const Metadata& metadata = artefact.metadata;
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
    fmt::print("{:9.4f} {:5.1f}% {:5} {:8.1f} {:6.1f} {:<12}  {}: {}\n", kernels[k].seconds * 1e3,
               total > 0 ? kernels[k].seconds / total * 100 : 0, kernels[k].calls,
               Gflops(info, kernels[k]), PercentOf(bounds[k], kernels[k]), bounds[k].of, info.name,
               NamesText(info.nodes));
  }
  PrintCounters(metadata, profile, order);
}

Status WriteTrace(const std::string& path, const Profile& profile, const Artefact& artefact) {
  std::string text = ChromeTrace(profile, artefact);
  return WriteFileAtomically(path, text);
}

Status RunBench(const BenchCommand& command) {
  bool profiled = command.profile || command.json || !command.trace.empty();
  if (command.counters && !profiled) {
    return UsageError("--counters wants --profile, --trace or --json, which show them");
  }
  if (!command.trace.empty()) {
    if (IsSameFile(command.trace, command.artefact)) {
      return UsageError("--trace {}: that is the model; expected another file", command.trace);
    }
    TCC_RETURN_IF_ERROR(CheckWritable(command.trace));
  }
  TCC_ASSIGN_OR_RETURN(Bench bench, Prepare(command));
  TCC_ASSIGN_OR_RETURN(std::vector<double> times, Measure(bench, command.iterations));
  const Module& module = bench.executor.module();
  const Metadata& metadata = module.metadata();
  Profile profile;
  if (profiled) {
    int runs = std::min(command.iterations, kProfiledRuns);
    TCC_ASSIGN_OR_RETURN(profile, ProfileRuns(bench.executor, [&] { return bench.Run(); }, runs));
  }
  if (command.counters) {
    TCC_RETURN_IF_ERROR(CountKernels(bench.executor, [&] { return bench.Run(); }, profile));
    if (!profile.counters_missing.empty()) {
      TellError("tcc: no counters: {}\n", profile.counters_missing);
    }
  }
  std::vector<KernelTime> kernels = FastestTimes(profile, metadata.kernels.size());
  if (!command.trace.empty()) {
    TCC_RETURN_IF_ERROR(WriteTrace(command.trace, profile, module.artefact()));
  }
  if (command.json) {
    PrintJson(command, bench, times, profile, kernels);
    return OkStatus();
  }
  fmt::print("{} runs, {} threads: min {:.3f} ms, median {:.3f} ms, p90 {:.3f} ms, p99 {:.3f} ms\n",
             command.iterations, module.pool()->threads(), times.front(), Median(times),
             Percentile(times, 90), Percentile(times, 99));
  if (command.profile) PrintProfile(module.artefact(), profile, kernels);
  return OkStatus();
}

}  // namespace

Action DeclareBench(CommandLine& line) {
  auto command = std::make_shared<BenchCommand>();
  line.AddOption("artefact", command->artefact, "Compiled model").Required().TypeName("OUT.tcc");
  line.AddOption("--iterations", command->iterations, "Runs to measure")
      .TypeName("N")
      .InRange(1, 1000000)
      .ShowDefault();
  AddThreadsOption(line, command->threads);
  line.AddFlag(
      "--profile", command->profile,
      "Also say what each kernel takes: on a GPU by CUPTI where it is found, else by events");
  line.AddFlag("--counters", command->counters,
               "Also read a GPU's counters by CUPTI, which repeats each kernel: memory read and "
               "written, L2 hits, warps, tensor cores, multiply-adds");
  line.AddOption("--trace", command->trace, "Write a run's calls of kernels as a Chrome trace")
      .TypeName("FILE");
  line.AddFlag("--json", command->json, "Print JSON, kernels included");
  return [command] { return RunBench(*command); };
}

}  // namespace tcc
