// tcc-bench search: searchers compared on spaces whose points tcc-bench lattice has measured.

#include <fmt/core.h>

#include <cmath>
#include <memory>

#include "autodiff_features/measured_tasks.h"
#include "autodiff_features/model_file.h"
#include "bench/search/curve_statistics.h"
#include "bench/search/median.h"
#include "bench/search/replay.h"
#include "bench/subcommand.h"
#include "bench/write_text.h"
#include "compiler/tune_graph.h"
#include "ir/support/for_each_index.h"
#include "runtime/executor/usable_cpus.h"

namespace tcc {
namespace {

struct SearchBench {
  std::vector<std::string> kernels;
  std::vector<std::string> searchers;
  std::string db;
  std::string estimates = "prior";
  std::string model;
  std::string csv;
  size_t most = 1500;
  size_t seeds = 30;
  size_t trials = 128;
  size_t batch = 16;
  int threads = 0;
};

constexpr size_t kCheckpoints[] = {16, 32, 64, 128};
// Others are compared with these where they take part.
constexpr std::string_view kCompared[] = {"random", "evolutionary"};

struct Contest {
  Target target;
  Environment environment;
  std::shared_ptr<const LearnedModel> model;
};

// One searcher's runs on one lattice.
struct Contestant {
  std::string searcher;
  std::vector<SearchCurve> runs;

  Curves curves() const {
    Curves curves;
    for (const SearchCurve& run : runs) curves.push_back(run.best);
    return curves;
  }
};

StatusOr<Contestant> RunSearcher(const SearchBench& bench, const Contest& contest,
                                 const MeasuredLattice& lattice, const std::string& searcher) {
  Contestant contestant{searcher, std::vector<SearchCurve>(bench.seeds)};
  TaskTunerOptions options{.searchers = SearchersNamed(searcher)};
  options.settings = SettingsOf(contest.environment.policy, contest.environment.threads);
  options.estimates = bench.estimates != "nearest";
  options.model = contest.model;
  TCC_RETURN_IF_ERROR(ForEachIndex(bench.seeds, UsableCpus(), [&](size_t seed) {
    TaskTunerOptions own = options;
    own.seed = seed + 1;
    contestant.runs[seed] = ReplaySearch(lattice, contest.target, own, bench.trials, bench.batch);
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

// Paired sign tests of all against those that take part of kCompared.
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
  for (size_t i = 0; i < pairs.size(); ++i) {
    fmt::print("  {:<32} p = {:.4f} that they are alike\n", pairs[i], corrected[i]);
  }
}

std::string CsvOf(const std::string& kernel, const std::string& estimates,
                  const Contestant& contestant, double best_seconds) {
  std::string text;
  for (size_t seed = 0; seed < contestant.runs.size(); ++seed) {
    const std::vector<double>& best = contestant.runs[seed].best;
    for (size_t trial = 0; trial < best.size(); ++trial) {
      text += fmt::format("{},{},{},{},{},{:.4f}\n", kernel, contestant.searcher, estimates,
                          seed + 1, trial + 1, std::log(best[trial] / best_seconds));
    }
  }
  return text;
}

Status RunSearch(const SearchBench& bench) {
  TCC_ASSIGN_OR_RETURN(std::vector<BenchKernel> kernels, KernelsNamed(bench.kernels));
  for (const std::string& searcher : bench.searchers) {
    if (SearchersNamed(searcher).empty()) {
      return InvalidInput("--searchers: there is no searcher '{}'", searcher);
    }
  }
  bool full = bench.estimates == "full";
  if (full == bench.model.empty()) {
    return InvalidInput("--model: expected with --estimates full, and with nothing else");
  }
  Contest contest;
  TCC_ASSIGN_OR_RETURN(contest.target, FindTarget("native"));
  contest.environment =
      LocalEnvironment(contest.target, bench.threads > 0 ? bench.threads : UsableCpus());
  if (full) {
    TCC_ASSIGN_OR_RETURN(LearnedModel model, ReadModel(bench.model));
    contest.model = std::make_shared<const LearnedModel>(std::move(model));
  }
  TCC_ASSIGN_OR_RETURN(Database database, Database::Open(bench.db, Database::Access::kReadWrite));
  std::string csv = "kernel,searcher,estimates,seed,trial,ln_regret\n";
  for (const BenchKernel& kernel : kernels) {
    TCC_ASSIGN_OR_RETURN(MeasuredLattice lattice, ReadLattice(kernel, bench.most, contest.target,
                                                              contest.environment, database));
    fmt::print("{}: {} points of {} sketches, the best takes {:.1f} us; {} runs each\n",
               kernel.name, lattice.points.size(), lattice.sketches.size(),
               1e6 * lattice.best_seconds, bench.seeds);
    fmt::print(
        "  {:<14} {:>6} {:>6}  mean ln regret after 16, 32, 64, 128 trials [95 %], "
        "predictions, CPU s\n",
        "searcher", "to 5 %", "to 1 %");
    std::vector<Contestant> contestants;
    for (const std::string& searcher : bench.searchers) {
      TCC_ASSIGN_OR_RETURN(contestants.emplace_back(),
                           RunSearcher(bench, contest, lattice, searcher));
      PrintContestant(contestants.back(), lattice.best_seconds);
      std::fflush(stdout);
      csv += CsvOf(std::string(kernel.name), bench.estimates, contestants.back(),
                   lattice.best_seconds);
    }
    PrintTests(contestants, lattice.best_seconds);
  }
  return bench.csv.empty() ? OkStatus() : WriteText(csv, bench.csv);
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
  app.add_option("--searchers", options->searchers, "Which take part")
      ->delimiter(',')
      ->capture_default_str();
  app.add_option("--estimates", options->estimates,
                 "What searchers expect by: measured neighbours, formulas, or a cost model")
      ->check(CLI::IsMember({"nearest", "prior", "full"}))
      ->capture_default_str();
  app.add_option("--model", options->model, "Cost model of --estimates full");
  app.add_option("--most", options->most, "As for tcc-bench lattice")->capture_default_str();
  app.add_option("--threads", options->threads, "As for tcc-bench lattice");
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
  return [options] { return RunSearch(*options); };
}

}  // namespace tcc
