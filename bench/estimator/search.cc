// tcc-bench search: searchers compared with equal numbers of measurements.

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <ctime>
#include <functional>
#include <limits>
#include <memory>
#include <optional>

#include "autodiff_features/learned/model_file.h"
#include "autodiff_features/measured_tasks.h"
#include "bench/estimator/curve_statistics.h"
#include "bench/estimator/lattice.h"
#include "bench/estimator/measured_points.h"
#include "bench/median.h"
#include "bench/subcommand.h"
#include "bench/write_text.h"
#include "runtime/executor/usable_cpus.h"
#include "runtime/supervise/measuring_lock.h"
#include "search/tuning/task_tuner.h"
#include "support/check.h"
#include "support/file.h"
#include "support/threads.h"

namespace tcc {
namespace {

struct SearchBench {
  std::vector<std::string> kernels;
  std::vector<std::string> searchers;
  std::string db;
  std::string estimates = "prior";
  std::string model;
  std::string csv;
  bool live = false;
  bool no_starts = false;
  size_t most = 1500;
  size_t seeds = 30;
  size_t trials = 128;
  size_t batch = 16;
  int threads = 0;
};

constexpr size_t kCheckpoints[] = {16, 32, 64, 128};
// Others are compared with these where they take part.
constexpr std::string_view kCompared[] = {"random", "evolutionary"};

// The course of a search.
struct SearchCurve {
  std::vector<double> best;  // least seconds after each trial; infinite before the first right one
  int64_t predictions = 0;
  double cpu_seconds = 0;  // of the search, without measuring
};

// A function that returns the measurements of points, in their order.
using PointTimes =
    std::function<StatusOr<std::vector<Measurement>>(std::span<const SearchPoint> points)>;

// One searcher's runs on one kernel.
struct Contestant {
  std::string searcher;
  std::vector<SearchCurve> runs;

  Curves curves() const {
    Curves curves;
    for (const SearchCurve& run : runs) curves.push_back(run.best);
    return curves;
  }
};

// Shared by all runs on a kernel.
struct Contest {
  const SearchBench& options;
  MeasuringBench& bench;
  std::shared_ptr<const LearnedModel> model;
  Workload workload;
  std::vector<Sketch> sketches;  // of the lattice; live: none, the whole space
  std::unique_ptr<TaskSpace> space;
  std::optional<MeasuredPoints> points;

  TaskSpace NewSpace() const {
    return options.live ? TaskSpace(workload, bench.target)
                        : TaskSpace(workload, bench.target, sketches);
  }
};

StatusOr<std::unique_ptr<Contest>> BeginContest(const SearchBench& options, MeasuringBench& bench,
                                                std::shared_ptr<const LearnedModel> model,
                                                const BenchKernel& kernel) {
  auto contest = std::make_unique<Contest>(
      Contest{options, bench, std::move(model), WorkloadOf(kernel), {}, nullptr, std::nullopt});
  if (!options.live) {
    contest->sketches = LatticeOf(contest->workload, bench.target, options.most);
  }
  contest->space = std::make_unique<TaskSpace>(contest->NewSpace());
  TCC_ASSIGN_OR_RETURN(contest->points,
                       MeasuredPoints::Read(bench, contest->workload, *contest->space));
  if (options.live) return contest;
  size_t points = PointsOf(*contest->space).size();
  if (contest->points->size() < points) {
    return InvalidInput(
        "kernel '{}': {} of its lattice's {} points are measured; expected all of them: tcc-bench "
        "lattice with the same --most and --threads",
        kernel.name, contest->points->size(), points);
  }
  if (contest->points->BestSeconds() > 0) return contest;
  return InvalidInput("kernel '{}': no point of its lattice is right", kernel.name);
}

double ThreadSeconds() {
  timespec time{};
  ::clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
  return static_cast<double>(time.tv_sec) + 1e-9 * static_cast<double>(time.tv_nsec);
}

// Searches with the tuner that users run. `times` looks times up or measures them.
StatusOr<SearchCurve> RunSearch(TaskTuner& tuner, size_t trials, size_t batch,
                                const PointTimes& times) {
  SearchCurve curve;
  double best = std::numeric_limits<double>::infinity();
  while (curve.best.size() < trials) {
    double start = ThreadSeconds();
    std::vector<Proposal> proposals = tuner.Propose(std::min(batch, trials - curve.best.size()));
    curve.cpu_seconds += ThreadSeconds() - start;
    if (proposals.empty()) break;
    std::vector<SearchPoint> points;
    for (const Proposal& proposal : proposals) points.push_back(proposal.point);
    TCC_ASSIGN_OR_RETURN(std::vector<Measurement> measured, times(points));
    for (size_t i = 0; i < points.size(); ++i) {
      tuner.Observe(proposals[i], measured[i]);
      if (measured[i].status == MeasureStatus::kOk) best = std::min(best, measured[i].seconds);
      curve.best.push_back(best);
    }
  }
  // A search that has seen all points stays where it is.
  curve.best.resize(trials, best);
  curve.predictions = tuner.predictions();
  return curve;
}

StatusOr<SearchCurve> RunOnce(Contest& contest, const std::string& searcher, size_t seed) {
  const SearchBench& options = contest.options;
  TaskTunerOptions own{.searchers = SearchersNamed(searcher), .seed = seed};
  const Environment& environment = contest.bench.environment;
  own.settings = SettingsOf(environment.policy, environment.threads);
  own.starts = !options.no_starts;
  own.estimates = options.estimates != "nearest";
  own.model = contest.model;
  own.trains = options.estimates.ends_with("online");
  TaskTuner tuner(contest.workload, contest.bench.target, contest.NewSpace(), own);
  PointTimes times =
      [&](std::span<const SearchPoint> points) -> StatusOr<std::vector<Measurement>> {
    if (options.live) TCC_RETURN_IF_ERROR(contest.points->Measure(points));
    std::vector<Measurement> measured;
    for (const SearchPoint& point : points) {
      const Measurement* found = contest.points->Find(point);
      TCC_CHECK(found != nullptr) << "a point outside of the lattice of " << contest.workload.name;
      measured.push_back(*found);
    }
    return measured;
  };
  return RunSearch(tuner, options.trials, options.batch, times);
}

// Replayed runs share the cores; live ones take turns.
StatusOr<Contestant> RunSearcher(Contest& contest, const std::string& searcher) {
  Contestant contestant{searcher, std::vector<SearchCurve>(contest.options.seeds)};
  int threads = contest.options.live ? 1 : UsableCpus();
  TCC_RETURN_IF_ERROR(ForEachIndex(contest.options.seeds, threads, [&](size_t run) -> Status {
    TCC_ASSIGN_OR_RETURN(contestant.runs[run], RunOnce(contest, searcher, run + 1));
    return OkStatus();
  }));
  return contestant;
}

void PrintContestant(const Contestant& contestant, double best_seconds) {
  Curves curves = contestant.curves();
  fmt::print("  {:<14} {:>6.0f} {:>6.0f}", contestant.searcher,
             MedianTrialsWithin(curves, best_seconds, 0.05),
             MedianTrialsWithin(curves, best_seconds, 0.01));
  for (size_t trials : kCheckpoints) {
    if (trials > curves[0].size()) continue;
    MeanRegret regret = RegretAfter(curves, best_seconds, trials);
    fmt::print("  {:.3f} [{:.3f}, {:.3f}]", regret.mean, regret.low, regret.high);
  }
  std::vector<double> seconds, predictions;
  for (const SearchCurve& run : contestant.runs) {
    seconds.push_back(run.cpu_seconds);
    predictions.push_back(static_cast<double>(run.predictions));
  }
  fmt::print(" {:>9.0f} {:>7.2f}\n", MedianOf(predictions), MedianOf(seconds));
}

// Paired sign tests of all against those that take part of kCompared, corrected for their number.
void PrintTests(const std::vector<Contestant>& contestants, double best_seconds) {
  std::vector<double> probabilities;
  std::vector<std::string> pairs;
  for (std::string_view compared : kCompared) {
    for (const Contestant& theirs : contestants) {
      if (theirs.searcher != compared) continue;
      for (const Contestant& ours : contestants) {
        if (ours.searcher == compared) continue;
        probabilities.push_back(SignTest(ours.curves(), theirs.curves(), best_seconds));
        pairs.push_back(ours.searcher + " and " + theirs.searcher);
      }
    }
  }
  std::vector<double> corrected = HolmCorrected(probabilities);
  if (!pairs.empty()) fmt::print("  sign tests of paired runs, corrected (Holm):\n");
  for (size_t i = 0; i < pairs.size(); ++i) {
    fmt::print("  {:<32} p = {:.4f}\n", pairs[i], corrected[i]);
  }
}

std::string CsvOf(const Contest& contest, const Contestant& contestant, double best_seconds) {
  std::string text;
  for (size_t run = 0; run < contestant.runs.size(); ++run) {
    const std::vector<double>& best = contestant.runs[run].best;
    for (size_t trial = 0; trial < best.size(); ++trial) {
      text += fmt::format("{},{},{},{},{},{:.4f}\n", contest.workload.name, contestant.searcher,
                          contest.options.estimates, run + 1, trial + 1,
                          std::log(best[trial] / best_seconds));
    }
  }
  return text;
}

// Returns the lines of the CSV.
StatusOr<std::string> RunContest(Contest& contest) {
  const SearchBench& options = contest.options;
  std::vector<Contestant> contestants;
  for (const std::string& searcher : options.searchers) {
    TCC_ASSIGN_OR_RETURN(contestants.emplace_back(), RunSearcher(contest, searcher));
  }
  double best_seconds = contest.points->BestSeconds();
  fmt::print("{}: {} points measured, {} sketches, the best takes {:.1f} us; {} runs each\n",
             contest.workload.name, contest.points->size(), contest.space->size(),
             1e6 * best_seconds, options.seeds);
  fmt::print("  {:<14} {:>6} {:>6}  mean ln regret after {} trials [95 %], predictions, CPU s\n",
             "searcher", "to 5 %", "to 1 %", "16, 32, 64, 128");
  std::string csv;
  for (const Contestant& contestant : contestants) {
    PrintContestant(contestant, best_seconds);
    csv += CsvOf(contest, contestant, best_seconds);
  }
  PrintTests(contestants, best_seconds);
  std::fflush(stdout);
  return csv;
}

Status ExpectUsable(const SearchBench& options) {
  for (const std::string& searcher : options.searchers) {
    if (SearchersNamed(searcher).empty()) {
      return UsageError("--searchers: there is no searcher '{}'", searcher);
    }
  }
  bool full = options.estimates.starts_with("full");
  if (full == options.model.empty()) {
    return UsageError(
        "--model: expected with --estimates full and full-online, and with nothing else");
  }
  return OkStatus();
}

Status RunSearchBench(const SearchBench& options) {
  TCC_RETURN_IF_ERROR(ExpectUsable(options));
  if (!options.csv.empty()) TCC_RETURN_IF_ERROR(CheckWritable(options.csv));
  TCC_ASSIGN_OR_RETURN(std::vector<BenchKernel> kernels, KernelsNamed(options.kernels));
  std::shared_ptr<const LearnedModel> model;
  if (!options.model.empty()) {
    TCC_ASSIGN_OR_RETURN(LearnedModel read, ReadModel(options.model));
    TCC_RETURN_IF_ERROR(ExpectModelFor(*FindTarget("native"), read, "--model " + options.model));
    model = std::make_shared<const LearnedModel>(std::move(read));
  }
  int threads = options.threads > 0 ? options.threads : UsableCpus();
  TCC_ASSIGN_OR_RETURN(MeasuringBench bench,
                       MeasuringBench::Open(options.db, threads, !options.live));
  std::optional<MeasuringLock> lock;
  if (options.live) {
    auto say = [](const std::string& message) { fmt::print(stderr, "tcc-bench: {}\n", message); };
    TCC_ASSIGN_OR_RETURN(MeasuringLock acquired, MeasuringLock::Acquire({.say = say}));
    lock.emplace(std::move(acquired));
  }
  std::string csv = "kernel,searcher,estimates,seed,trial,ln_regret\n";
  for (const BenchKernel& kernel : kernels) {
    TCC_ASSIGN_OR_RETURN(std::unique_ptr<Contest> contest,
                         BeginContest(options, bench, model, kernel));
    TCC_ASSIGN_OR_RETURN(std::string lines, RunContest(*contest));
    csv += lines;
  }
  return options.csv.empty() ? OkStatus() : WriteText(csv, options.csv);
}

}  // namespace

BenchAction DeclareSearch(CLI::App& app) {
  auto options = std::make_shared<SearchBench>();
  for (const SearcherRow& row : Searchers()) options->searchers.emplace_back(row.name);
  options->searchers.emplace_back(kAutoSearcher);
  app.add_option("--kernels", options->kernels, "Kernels of the suites, by name")
      ->delimiter(',')
      ->required();
  app.add_option("--db", options->db, "What tcc-bench lattice has measured")->required();
  app.add_flag("--live", options->live,
               "Search the whole space instead; measure what --db does not know and keep it there");
  app.add_flag("--no-starts", options->no_starts,
               "Let searchers begin without the starts of the sketches");
  app.add_option("--searchers", options->searchers, "Which take part")
      ->delimiter(',')
      ->capture_default_str();
  app.add_option("--estimates", options->estimates,
                 "What searchers expect by: measured neighbours, formulas, or a cost model")
      ->check(CLI::IsMember({"nearest", "prior", "online", "full", "full-online"}))
      ->capture_default_str();
  app.add_option("--model", options->model, "Cost model of --estimates full and full-online");
  app.add_option("--most", options->most, "As for tcc-bench lattice")
      ->check(CLI::Range(1, 1'000'000))
      ->capture_default_str();
  app.add_option("--threads", options->threads, "As for tcc-bench lattice")
      ->check(CLI::Range(0, 1024));
  app.add_option("--seeds", options->seeds, "Runs of each searcher; the same seeds for all")
      ->check(CLI::Range(1, 10'000))
      ->capture_default_str();
  app.add_option("--trials", options->trials, "Trials of a run")
      ->check(CLI::Range(1, 100'000))
      ->capture_default_str();
  app.add_option("--batch", options->batch, "Trials between two rounds of proposals")
      ->check(CLI::Range(1, 1000))
      ->capture_default_str();
  app.add_option("--csv", options->csv, "File for the curves of all runs");
  return [options] { return RunSearchBench(*options); };
}

}  // namespace tcc
