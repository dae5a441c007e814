#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <memory>
#include <optional>

#include "bench/cpu/kernel_operator.h"
#include "bench/cpu/kernel_suite.h"
#include "bench/subcommand.h"
#include "compiler/kernels.h"
#include "compiler/make_backend.h"
#include "compiler/measured_device.h"
#include "compiler/tune_graph.h"
#include "runtime/executor/usable_cpus.h"
#include "runtime/supervise/measuring_lock.h"
#include "search/measure/local_measurer.h"
#include "search/space/task_space.h"
#include "support/stopwatch.h"
#include "support/temporary_folder.h"

namespace tcc {
namespace {

constexpr int64_t kTrials = 64;  // of a kernel that is given neither trials nor seconds

struct TuningBench {
  std::vector<std::string> suites = {"gemm", "conv", "depthwise", "softmax"};
  std::string only;
  std::optional<int64_t> trials;
  double seconds = 0;  // 0: no limit
  std::string searcher = std::string(kAutoSearcher);
  std::string policy = std::string(NameOf(MeasurePolicy::kRotate64M));
  std::string db;
  uint64_t seed = 0;
  int threads = 0;
};

// The target, code generator, threads and way of timing of all kernels.
struct Setup {
  Target target;
  MeasurePolicy policy = MeasurePolicy::kRotate64M;
  std::unique_ptr<Backend> backend;
  int threads = 1;

  std::vector<BuiltCandidate> Build(const Workload& workload, std::span<const Candidate> candidates,
                                    const BuildFilter& filter) const {
    BuildOptions options{.target = target, .backend = backend.get(), .threads = threads};
    options.filter = filter;
    return BuildCandidates(workload, candidates, options);
  }
  StatusOr<std::unique_ptr<Measurer>> NewMeasurer() const {
    return MakeLocalMeasurer(
        {.runner = {.hello = {.threads = static_cast<uint32_t>(threads)}}, .policy = policy});
  }
};

std::vector<BenchKernel> KernelsOf(const TuningBench& bench) {
  std::vector<BenchKernel> kernels;
  for (const std::string& suite : bench.suites) {
    for (const BenchKernel& kernel : KernelSuite(suite)) {
      if (kernel.name.find(bench.only) != std::string_view::npos) kernels.push_back(kernel);
    }
  }
  return kernels;
}

// Opens the database of the options in `path`, or one of this run alone in the folder.
StatusOr<Database> OpenDatabase(const std::string& path, const TemporaryFolder& scratch) {
  return Database::Open(path.empty() ? scratch / "f.db" : path, Database::Access::kReadWrite);
}

// --- the rate

void Say(const std::string& message) {
  fmt::print(stderr, "tcc-bench: {}\n", message);
}

void PrintRate(const Workload& workload, const TuneResult& result, double seconds) {
  const TunePhases& phases = result.phases;
  auto trials = static_cast<double>(std::max<int64_t>(result.trials, 1));
  auto ms = [&](double phase) { return 1e3 * phase / trials; };
  int64_t right = 0;
  for (MeasureStatus status : {MeasureStatus::kOk, MeasureStatus::kSlow}) {
    auto count = result.statuses.find(status);
    if (count != result.statuses.end()) right += count->second;
  }
  const TaskResult& task = result.tasks[0];
  double gain = task.best_seconds > 0 ? task.constructed_seconds / task.best_seconds : 0;
  fmt::print("{:<24} {:>6.1f} {:>8.1f} {:>8.2f} {:>8.1f} {:>8.1f} {:>6} {:>6} {:>7} {:>6.2f}x\n",
             workload.name, static_cast<double>(result.trials) / seconds, ms(phases.begin),
             ms(phases.propose), ms(phases.build), ms(phases.check), result.trials, right,
             result.copied, gain);
  std::fflush(stdout);
}

StatusOr<TuneResult> TuneKernel(const Workload& workload, const TuningBench& bench,
                                const Setup& setup) {
  TCC_ASSIGN_OR_RETURN(TemporaryFolder scratch, TemporaryFolder::Make("a temporary database"));
  TCC_ASSIGN_OR_RETURN(Database database, OpenDatabase(bench.db, scratch));
  TCC_ASSIGN_OR_RETURN(std::unique_ptr<Measurer> measurer, setup.NewMeasurer());
  auto build = [&](const Workload& task, std::span<const Candidate> candidates,
                   const BuildFilter& filter) { return setup.Build(task, candidates, filter); };
  TuneOptions options{.target = setup.target, .seconds = bench.seconds};
  options.trials = bench.trials.value_or(bench.seconds > 0 ? 0 : kTrials);
  options.searcher = bench.searcher;
  options.seed = bench.seed;
  return Tune({&workload, 1}, options, LocalEnvironment(setup.target, setup.threads, setup.policy),
              {.measurer = *measurer, .network = nullptr, .build = build}, database);
}

// Tunes each kernel by itself and tells what a trial takes.
Status MeasureRate(const TuningBench& bench, const Setup& setup) {
  fmt::print("{:<24} {:>6} {:>8} {:>8} {:>8} {:>8} {:>6} {:>6} {:>7} {:>7}\n", "kernel", "per s",
             "ms begin", "propose", "build", "check", "trials", "right", "copied", "gain");
  double logs = 0, count = 0;
  for (const BenchKernel& kernel : KernelsOf(bench)) {
    TCC_ASSIGN_OR_RETURN(Workload workload, TunedWorkloadOf(kernel, setup.target));
    Stopwatch stopwatch;
    TCC_ASSIGN_OR_RETURN(TuneResult result, TuneKernel(workload, bench, setup));
    double taken = stopwatch.Seconds();
    if (Status ran = ExpectSomeKernel(result, {}); !ran.ok()) Say(Message(ran));
    PrintRate(workload, result, taken);
    if (result.trials == 0) continue;
    logs += std::log(static_cast<double>(result.trials) / taken);
    ++count;
  }
  fmt::print("geometric mean: {:.1f} trials per second\n", std::exp(logs / std::max(count, 1.0)));
  return OkStatus();
}

// Refuses names that nothing has, before anything is measured.
Status ExpectKnownNames(const TuningBench& bench) {
  for (const std::string& suite : bench.suites) {
    if (!KernelSuite(suite).empty()) continue;
    return UsageError("--suites: no suite '{}'; there are {}", suite, KernelSuiteNames());
  }
  if (KernelsOf(bench).empty()) {
    return UsageError("--only '{}': no kernel of the suites has that in its name", bench.only);
  }
  return ExpectSearcher(bench.searcher);
}

Status RunTuningBench(const TuningBench& bench) {
  TCC_RETURN_IF_ERROR(ExpectKnownNames(bench));
  Setup setup;
  TCC_ASSIGN_OR_RETURN(setup.target, FindTarget("native"));
  TCC_ASSIGN_OR_RETURN(setup.backend, MakeBackend(setup.target));
  setup.policy = *FindMeasurePolicy(bench.policy);  // the options refuse unknown ones
  setup.threads = bench.threads > 0 ? bench.threads : UsableCpus();
  TCC_ASSIGN_OR_RETURN(MeasuringLock lock, MeasuringLock::Acquire({.say = Say}));
  return MeasureRate(bench, setup);
}

}  // namespace

BenchAction DeclareTuning(CLI::App& app) {
  auto bench = std::make_shared<TuningBench>();
  app.add_option("--suites", bench->suites,
                 "Suites of kernels, of " + std::string(KernelSuiteNames()))
      ->delimiter(',');
  app.add_option("--only", bench->only, "Kernels with this in their names");
  app.add_option("--trials", bench->trials,
                 fmt::format("Candidates of each kernel; {} without --seconds", kTrials))
      ->check(CLI::Range(1, 1'000'000));
  app.add_option("--seconds", bench->seconds,
                 "Seconds of each kernel; it ends with what is first of these and --trials")
      ->check(RefuseNan)
      ->check(CLI::Range(1e-3, 1e9).description(""));
  app.add_option("--searcher", bench->searcher, "What chooses them")->capture_default_str();
  app.add_option("--policy", bench->policy, "Where the operands of timed candidates are")
      ->check(CLI::IsMember({NameOf(MeasurePolicy::kRotate64M), NameOf(MeasurePolicy::kWarm)}))
      ->capture_default_str();
  app.add_option("--db", bench->db, "Database that keeps the trials; known ones are not repeated");
  app.add_option("--seed", bench->seed, "Seed of what is random")->capture_default_str();
  app.add_option("--threads", bench->threads, "Threads that build and that kernels run on")
      ->check(CLI::Range(0, 1024));
  return [bench] { return RunTuningBench(*bench); };
}

}  // namespace tcc
