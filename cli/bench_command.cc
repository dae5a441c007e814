#include <fmt/core.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <memory>
#include <nlohmann/json.hpp>

#include "api/random_inputs.h"
#include "api/reference_device.h"
#include "cli/command.h"
#include "cli/threads_option.h"
#include "runtime/aligned_memory.h"
#include "runtime/binding.h"
#include "runtime/executor.h"

namespace tcc {
namespace {

// Before these many runs caches, clock and pages are still warming up.
constexpr int kWarmUpRuns = 3;
constexpr int kProfiledRuns = 10;

struct BenchCommand {
  std::string artefact;
  int iterations = 50;
  int threads = 0;
  bool profile = false;
  bool json = false;
};

struct KernelTime {
  double seconds = 0;  // of one run of the model, all calls together
  int64_t calls = 0;   // in one run
};

// Tensors that every run reads and writes.
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

// Milliseconds of each run, ascending.
StatusOr<std::vector<double>> Measure(Bench& bench, int iterations) {
  for (int i = 0; i < kWarmUpRuns; ++i) TCC_RETURN_IF_ERROR(bench.Run());
  std::vector<double> times;
  for (int i = 0; i < iterations; ++i) {
    auto start = std::chrono::steady_clock::now();
    TCC_RETURN_IF_ERROR(bench.Run());
    std::chrono::duration<double, std::milli> time = std::chrono::steady_clock::now() - start;
    times.push_back(time.count());
  }
  std::sort(times.begin(), times.end());
  return times;
}

// Each kernel's time in the run where it was fastest, by its place in the metadata.
StatusOr<std::vector<KernelTime>> Profile(Bench& bench, int runs) {
  size_t count = bench.executor.module().metadata().kernels.size();
  std::vector<KernelTime> best(count), run(count);
  bench.executor.set_call_hook([&](size_t kernel, double seconds) {
    run[kernel].seconds += seconds;
    ++run[kernel].calls;
  });
  for (int r = 0; r < runs; ++r) {
    run.assign(count, {});
    TCC_RETURN_IF_ERROR(bench.Run());
    for (size_t k = 0; k < count; ++k) {
      if (r == 0 || run[k].seconds < best[k].seconds) best[k] = run[k];
    }
  }
  bench.executor.set_call_hook({});
  return best;
}

// By nearest rank.
double Percentile(const std::vector<double>& sorted, double percent) {
  auto rank = static_cast<size_t>(std::ceil(percent / 100 * static_cast<double>(sorted.size())));
  return sorted[std::max<size_t>(rank, 1) - 1];
}

double Median(const std::vector<double>& sorted) {
  size_t middle = sorted.size() / 2;
  return sorted.size() % 2 == 1 ? sorted[middle] : (sorted[middle - 1] + sorted[middle]) / 2;
}

double Gflops(const KernelInfo& info, const KernelTime& time) {
  if (time.seconds <= 0) return 0;
  return static_cast<double>(info.flops * time.calls) / time.seconds * 1e-9;
}

void PrintJson(const BenchCommand& command, const Bench& bench, const std::vector<double>& times,
               const std::vector<KernelTime>& kernels) {
  const Module& module = bench.executor.module();
  nlohmann::ordered_json rows = nlohmann::ordered_json::array();
  for (size_t k = 0; k < kernels.size(); ++k) {
    const KernelInfo& info = module.metadata().kernels[k];
    rows.push_back({{"name", info.name},
                    {"nodes", info.nodes},
                    {"calls", kernels[k].calls},
                    {"ms", kernels[k].seconds * 1e3},
                    {"flops", info.flops},
                    {"gflops", Gflops(info, kernels[k])}});
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
  fmt::print("{}\n", result.dump(2));
}

void PrintProfile(const Bench& bench, const std::vector<KernelTime>& kernels) {
  double total = 0;
  for (const KernelTime& kernel : kernels) total += kernel.seconds;
  std::vector<size_t> order(kernels.size());
  for (size_t k = 0; k < order.size(); ++k) order[k] = k;
  std::stable_sort(order.begin(), order.end(),
                   [&](size_t a, size_t b) { return kernels[a].seconds > kernels[b].seconds; });
  fmt::print("{:>9} {:>6} {:>5} {:>8}  kernel\n", "ms", "share", "calls", "GFLOP/s");
  for (size_t k : order) {
    const KernelInfo& info = bench.executor.module().metadata().kernels[k];
    fmt::print("{:9.3f} {:5.1f}% {:5} {:8.1f}  {}\n", kernels[k].seconds * 1e3,
               total > 0 ? kernels[k].seconds / total * 100 : 0, kernels[k].calls,
               Gflops(info, kernels[k]), info.name);
  }
}

Status RunBench(const BenchCommand& command) {
  TCC_ASSIGN_OR_RETURN(Bench bench, Prepare(command));
  TCC_ASSIGN_OR_RETURN(std::vector<double> times, Measure(bench, command.iterations));
  std::vector<KernelTime> kernels;
  if (command.profile || command.json) {
    TCC_ASSIGN_OR_RETURN(kernels, Profile(bench, std::min(command.iterations, kProfiledRuns)));
  }
  if (command.json) {
    PrintJson(command, bench, times, kernels);
    return OkStatus();
  }
  fmt::print("{} runs, {} threads: min {:.3f} ms, median {:.3f} ms, p90 {:.3f} ms, p99 {:.3f} ms\n",
             command.iterations, bench.executor.module().pool()->threads(), times.front(),
             Median(times), Percentile(times, 90), Percentile(times, 99));
  if (command.profile) PrintProfile(bench, kernels);
  return OkStatus();
}

}  // namespace

Action DeclareBench(CLI::App& app) {
  auto command = std::make_shared<BenchCommand>();
  app.add_option("artefact", command->artefact, "Compiled model")->required()->type_name("OUT.tcc");
  app.add_option("--iterations", command->iterations, "Runs to measure")
      ->type_name("N")
      ->check(CLI::Range(1, 1000000).description(""))
      ->capture_default_str();
  AddThreadsOption(app, command->threads);
  app.add_flag("--profile", command->profile, "Also say what each kernel takes");
  app.add_flag("--json", command->json, "Print JSON, kernels included");
  return [command] { return RunBench(*command); };
}

}  // namespace tcc
