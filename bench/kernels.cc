// tcc-bench kernels: hand-written schedules against the peak of the CPU and against libraries.

#include <fmt/core.h>

#include <algorithm>
#include <fstream>
#include <memory>
#include <sstream>

#include "bench/compiled_kernel.h"
#include "bench/interleaved_timing.h"
#include "bench/kernel_case.h"
#include "bench/kernel_report.h"
#include "bench/kernel_suite.h"
#include "bench/operator_suite.h"
#include "bench/operators.h"
#include "bench/peers.h"
#include "bench/subcommand.h"
#include "runtime/fma_peak.h"
#include "schedule/sketch.h"

namespace tcc {
namespace {

struct KernelsOptions {
  std::string suite = "traces";
  std::string kernel;                     // one of the suite, or all
  std::string traces = TCC_BENCH_TRACES;  // the folder of NAME.trace
  std::string trace;                      // a file, for `kernel`
  std::optional<size_t> sketch;           // that one's start point instead of a trace
  std::string stage;                      // of the compiler, to print instead of measuring
  std::vector<int> threads = {1, 2};
  OperatorSuiteOptions operators;  // of suites of operators: what only these have
  std::vector<std::string> peers;  // all, if none is named
  int rounds = 20;
  std::optional<std::string> json;  // a file; "" for stdout
};

OperatorSuiteOptions ForOperators(const KernelsOptions& options) {
  OperatorSuiteOptions operators = options.operators;
  operators.suite = options.suite;
  operators.kernel = options.kernel;
  operators.threads = options.threads.back();
  operators.peers = options.peers;
  operators.rounds = options.rounds;
  operators.json = options.json;
  return operators;
}

StatusOr<Schedule> ReadSchedule(const std::string& path) {
  std::ifstream file(path);
  if (!file) return InvalidInput("cannot read '{}'", path);
  std::ostringstream text;
  text << file.rdbuf();
  StatusOr<Schedule> schedule = ParseSchedule(text.str());
  if (!schedule.ok()) return Annotate(schedule.status(), path);
  return schedule;
}

// What the options say `fn` is to run as: a trace where the suite has them, else the first sketch.
StatusOr<Schedule> ScheduleFor(const Function& fn, const KernelsOptions& options) {
  if (!options.trace.empty()) return ReadSchedule(options.trace);
  bool has_traces = options.suite == "traces";
  if (has_traces && !options.sketch) return ReadSchedule(options.traces + "/" + fn.name + ".trace");
  TCC_ASSIGN_OR_RETURN(Target target, FindTarget("native"));
  std::vector<Sketch> sketches = GenerateSketches(fn, target);
  size_t number = options.sketch.value_or(0);
  if (number >= sketches.size()) {
    return UsageError("{} has {} sketches", fn.name, sketches.size());
  }
  const Sketch& sketch = sketches[number];
  return Schedule{sketch.trace, sketch.start, 0};
}

bool IsWanted(const KernelsOptions& options, const Peer& peer) {
  return options.peers.empty() ||
         std::find(options.peers.begin(), options.peers.end(), peer.name) != options.peers.end();
}

Status PrintStage(const BenchKernel& kernel, const KernelsOptions& options) {
  Function fn = TensorFunction(kernel);
  TCC_ASSIGN_OR_RETURN(Schedule schedule, ScheduleFor(fn, options));
  if (options.stage == "schedule") {
    fmt::print("# {}\n{}", fn.name, Print(schedule));
    return OkStatus();
  }
  TCC_ASSIGN_OR_RETURN(std::string text, KernelStage(fn, schedule, options.stage));
  fmt::print("{}\n", text);
  return OkStatus();
}

StatusOr<std::vector<KernelResult>> MeasureKernel(const BenchKernel& kernel,
                                                  const KernelsOptions& options) {
  std::string name(kernel.name);
  TCC_ASSIGN_OR_RETURN(Schedule schedule, ScheduleFor(TensorFunction(kernel), options));
  TCC_ASSIGN_OR_RETURN(KernelCase example, KernelCase::Create(kernel));
  StatusOr<BenchedKernel> ours = BenchedKernel::Create(example.fn(), schedule, example.arguments());
  if (!ours.ok()) return Annotate(ours.status(), name);
  std::vector<KernelResult> results;
  for (int threads : options.threads) {
    ThreadPool pool({.threads = threads});
    double operations = 0;
    std::vector<std::function<void()>> contestants = {[&] { operations = RunFmaLoop(pool); },
                                                      [&] { ours->Run(pool); }};
    TCC_RETURN_IF_ERROR(example.Check("the schedule", contestants[1]));
    std::vector<std::string> peers;
    for (const Peer& peer : Peers()) {
      if (!IsWanted(options, peer)) continue;
      std::function<void()> run = peer.make(kernel, example.arguments(), threads);
      if (!run) continue;
      TCC_RETURN_IF_ERROR(example.Check(std::string(peer.name), run));
      peers.emplace_back(peer.name);
      contestants.push_back(std::move(run));
    }
    std::vector<double> seconds = LeastSeconds(contestants, options.rounds);
    KernelResult result{
        name, threads, NominalFlops(kernel), seconds[1] * 1e6, operations / seconds[0] / 1e9, {}};
    for (size_t p = 0; p < peers.size(); ++p) {
      result.peers.emplace_back(peers[p], seconds[p + 2] * 1e6);
    }
    results.push_back(std::move(result));
  }
  return results;
}

Status ExpectPeers(const KernelsOptions& options) {
  for (const std::string& name : options.peers) {
    bool known = name == "none" || std::any_of(Peers().begin(), Peers().end(),
                                               [&](const Peer& peer) { return peer.name == name; });
    if (!known) return UsageError("no peer '{}'; there are onednn and openblas", name);
  }
  return OkStatus();
}

Status RunKernels(const KernelsOptions& options) {
  if (!OperatorSuite(options.suite).empty()) return RunOperatorSuite(ForOperators(options));
  std::span<const BenchKernel> suite = KernelSuite(options.suite);
  if (suite.empty()) {
    return UsageError("no suite '{}'; there are {}, and of operators {}", options.suite,
                      KernelSuiteNames(), OperatorSuiteNames());
  }
  if (options.operators.target != "native") {
    return UsageError("suite '{}' is for native; for other targets there are {}", options.suite,
                      OperatorSuiteNames());
  }
  if (!options.trace.empty() && options.kernel.empty()) {
    return UsageError("--trace needs --kernel");
  }
  TCC_RETURN_IF_ERROR(ExpectPeers(options));
  bool as_text = options.json != "" && options.stage.empty();
  bool found = false;
  std::vector<KernelResult> results;
  if (as_text) PrintHeader();
  for (const BenchKernel& kernel : suite) {
    if (!options.kernel.empty() && kernel.name != options.kernel) continue;
    found = true;
    if (!options.stage.empty()) {
      TCC_RETURN_IF_ERROR(PrintStage(kernel, options));
      continue;
    }
    TCC_ASSIGN_OR_RETURN(std::vector<KernelResult> measured, MeasureKernel(kernel, options));
    if (as_text) std::for_each(measured.begin(), measured.end(), PrintRow);
    results.insert(results.end(), measured.begin(), measured.end());
  }
  if (!found) return UsageError("no kernel '{}' in suite '{}'", options.kernel, options.suite);
  return options.json ? WriteJson(results, *options.json) : OkStatus();
}

}  // namespace

BenchAction DeclareKernels(CLI::App& app) {
  auto options = std::make_shared<KernelsOptions>();
  app.add_option("--suite", options->suite,
                 "Which kernels: " + std::string(KernelSuiteNames()) +
                     "; which operators: " + std::string(OperatorSuiteNames()));
  app.add_option("--kernel", options->kernel, "Only this one of the suite");
  app.add_option("--traces", options->traces, "Folder of the schedules of suite traces");
  app.add_option("--trace", options->trace, "A schedule to try on --kernel");
  app.add_option("--sketch", options->sketch, "The start point of sketch N: 0 without a trace");
  app.add_option("--stage", options->stage,
                 "Measure nothing; print the kernels at a stage: schedule, lowered, source, asm");
  app.add_option("--threads", options->threads, "Numbers of threads: 1,2")->delimiter(',');
  app.add_option("--peer", options->peers,
                 "Only these of onednn, openblas; on a GPU of cublas, cublaslt, cudnn; none")
      ->delimiter(',');
  app.add_option("--rounds", options->rounds, "How often each is measured in turn");
  app.add_option("--json", options->json, "Write [{name, flops, ours_us, ...}], to stdout or FILE")
      ->expected(0, 1);
  OperatorSuiteOptions& operators = options->operators;
  app.add_option("--target", operators.target, "Of operators: native, sm_86, ...");
  app.add_option("--seconds", operators.seconds, "Begin no operator after so long");
  app.add_flag("--compile-only", operators.compile_only,
               "Only compile the operators, to the cache");
  app.add_flag("--text", operators.text, "CUDA text, for the emulated driver in TCC_CUDA_DRIVER");
  app.add_flag("--quick", operators.quick, "Few launches: only to see that it works");
  app.add_option("--markdown", operators.markdown, "Write a table, to stdout or FILE")
      ->expected(0, 1);
  return [options] { return RunKernels(*options); };
}

}  // namespace tcc
