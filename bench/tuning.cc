#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <memory>
#include <optional>

#include "bench/cpu/kernel_operator.h"
#include "bench/cpu/kernel_suite.h"
#include "bench/search/median.h"
#include "bench/subcommand.h"
#include "compiler/kernels.h"
#include "compiler/make_backend.h"
#include "compiler/tune_graph.h"
#include "runtime/executor/usable_cpus.h"
#include "search/measure/local_measurer.h"
#include "search/measure/measuring_lock.h"
#include "search/space/task_space.h"
#include "support/stopwatch.h"
#include "support/temporary_folder.h"

namespace tcc {
namespace {

constexpr int64_t kTrials = 64;

struct TuningBench {
  std::vector<std::string> suites = {"gemm", "conv", "depthwise", "softmax"};
  std::string only;
  std::optional<int64_t> trials;  // kTrials where there are no seconds either
  double seconds = 0;             // 0: no limit
  std::string searcher = std::string(kAutoSearcher);
  std::string policy = std::string(NameOf(MeasurePolicy::kRotate64M));
  std::string db;
  uint64_t seed = 0;
  int threads = 0;
  int runs = 0;
  int points = 50;
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
    return MakeLocalMeasurer({.threads = threads, .policy = policy});
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
    if (Status ran = ExpectSomeKernel(result); !ran.ok()) Say(Message(ran));
    PrintRate(workload, result, taken);
    if (result.trials == 0) continue;
    logs += std::log(static_cast<double>(result.trials) / taken);
    ++count;
  }
  fmt::print("geometric mean: {:.1f} trials per second\n", std::exp(logs / std::max(count, 1.0)));
  return OkStatus();
}

// --- repeatability

// Artefacts of the constructed candidate and of points drawn at random that can be built.
std::vector<std::vector<uint8_t>> DrawArtefacts(const Workload& workload, const Setup& setup,
                                                const TuningBench& bench) {
  TaskSpace space(workload, setup.target);
  Random random(bench.seed);
  std::vector<Candidate> candidates = {space.ToCandidate(*space.Start(0))};
  for (int i = 0; i < 4 * bench.points; ++i) {
    const SearchSpace* points = space.Points(random.Below(space.size()));
    if (!points) continue;
    std::optional<Point> point = points->Sample(random);
    if (!point) continue;
    for (size_t s = 0; s < space.size(); ++s) {
      if (space.Points(s) == points) candidates.push_back(space.ToCandidate({s, *point}));
    }
    if (std::ssize(candidates) > bench.points) break;
  }
  std::vector<std::vector<uint8_t>> artefacts;
  for (BuiltCandidate& built : setup.Build(workload, candidates, {})) {
    if (built.status.ok()) artefacts.push_back(std::move(built.artefact));
  }
  return artefacts;
}

// Seconds of each artefact in a worker of its own; 0 where it was not timed.
StatusOr<std::vector<double>> MeasureAll(const Workload& workload,
                                         const std::vector<std::vector<uint8_t>>& artefacts,
                                         const Setup& setup) {
  TCC_ASSIGN_OR_RETURN(std::unique_ptr<Measurer> measurer, setup.NewMeasurer());
  TCC_ASSIGN_OR_RETURN(Measurement reference, measurer->Open(workload, artefacts[0]));
  std::vector<double> seconds;
  for (const std::vector<uint8_t>& artefact : artefacts) {
    measurer->Submit({.id = 0, .artefact = artefact, .stop_beyond = 10 * reference.seconds});
    TCC_ASSIGN_OR_RETURN(std::optional<MeasureReport> report, measurer->Take());
    bool timed = report && report->measurement.status == MeasureStatus::kOk;
    seconds.push_back(timed ? report->measurement.seconds : 0);
  }
  return seconds;
}

// The relative distance from the median of its point within which a measurement repeats it.
constexpr double kRepeatTolerance = 0.03;

// The share of the measurements that repeat their point, as they are and with each run divided by
// how fast the machine was in it: the median over points of the ratio to the point's median.
struct Repeats {
  double as_is = 0;
  double by_run = 0;
  size_t points = 0;
};
Repeats RepeatsOf(const std::vector<std::vector<double>>& runs) {
  std::vector<std::vector<double>> ratios(runs.size());
  Repeats repeats;
  for (size_t point = 0; point < runs[0].size(); ++point) {
    std::vector<double> seconds;
    for (const std::vector<double>& run : runs) seconds.push_back(run[point]);
    if (std::ranges::count(seconds, 0.0) > 0) continue;
    ++repeats.points;
    for (size_t r = 0; r < runs.size(); ++r) ratios[r].push_back(seconds[r] / MedianOf(seconds));
  }
  double count = static_cast<double>(std::max<size_t>(runs.size() * repeats.points, 1));
  for (const std::vector<double>& of_run : ratios) {
    if (of_run.empty()) continue;
    double speed = MedianOf(of_run);
    for (double ratio : of_run) {
      repeats.as_is += (std::abs(ratio - 1) <= kRepeatTolerance) / count;
      repeats.by_run += (std::abs(ratio / speed - 1) <= kRepeatTolerance) / count;
    }
  }
  return repeats;
}

// Measures the same points in several runs, each in a worker of its own.
Status MeasureRepeatability(const TuningBench& bench, const Setup& setup) {
  fmt::print("{:<24} {:>6} {:>5} {:>12} {:>16}\n", "kernel", "points", "runs",
             fmt::format("within {:.0f} %", 100 * kRepeatTolerance), "speed of run out");
  for (const BenchKernel& kernel : KernelsOf(bench)) {
    TCC_ASSIGN_OR_RETURN(Workload workload, TunedWorkloadOf(kernel, setup.target));
    std::vector<std::vector<uint8_t>> artefacts = DrawArtefacts(workload, setup, bench);
    if (artefacts.empty()) continue;
    std::vector<std::vector<double>> runs;
    for (int run = 0; run < bench.runs; ++run) {
      TCC_ASSIGN_OR_RETURN(runs.emplace_back(), MeasureAll(workload, artefacts, setup));
    }
    Repeats repeats = RepeatsOf(runs);
    fmt::print("{:<24} {:>6} {:>5} {:>10.0f} % {:>14.0f} %\n", workload.name, repeats.points,
               bench.runs, 100 * repeats.as_is, 100 * repeats.by_run);
  }
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
  setup.policy = *FindMeasurePolicy(bench.policy);  // the options let known ones through alone
  setup.threads = bench.threads > 0 ? bench.threads : UsableCpus();
  TCC_ASSIGN_OR_RETURN(MeasuringLock lock, MeasuringLock::Acquire({.say = Say}));
  return bench.runs > 0 ? MeasureRepeatability(bench, setup) : MeasureRate(bench, setup);
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
  app.add_option("--repeat", bench->runs,
                 "Measure the same random points in so many runs instead, and tell how far they "
                 "agree")
      ->check(CLI::Range(1, 1000));
  app.add_option("--points", bench->points, "Points of --repeat")
      ->check(CLI::Range(1, 1'000'000))
      ->capture_default_str();
  return [bench] { return RunTuningBench(*bench); };
}

}  // namespace tcc
