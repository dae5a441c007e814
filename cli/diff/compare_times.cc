#include "cli/diff/compare_times.h"

#include <fmt/core.h>

#include <algorithm>
#include <numeric>

#include "cli/bench/percentiles.h"
#include "cli/readable_units.h"
#include "compiler/check/random_inputs.h"
#include "support/stopwatch.h"

namespace tcc {
namespace {

// In three runs a GPU's queue has recorded the model and a CPU's caches hold what they can.
constexpr int kWarmUpRuns = 3;
// Rounds that time every kernel, of which the least times and the spread are taken.
constexpr int kMaxProfiledRounds = 10;
// The share of a difference that is worth naming kernels for, in percent.
constexpr double kEnough = 90;

// One of the two models, with the tensors that it reads.
struct Side {
  explicit Side(const Module& module) : executor(module) {}

  Status Run() { return executor.Run(inputs).status(); }
  // Runs and returns the seconds that it takes.
  StatusOr<double> TimedRun() {
    Stopwatch stopwatch;
    TCC_RETURN_IF_ERROR(Run());
    return stopwatch.Seconds();
  }

  Executor executor;
  std::vector<Tensor> inputs;
  std::vector<double> run_seconds;
  Profile profile;
};

Status WarmUp(Side& side) {
  TCC_ASSIGN_OR_RETURN(side.inputs, RandomInputs(side.executor.module().metadata(), 0));
  for (int i = 0; i < kWarmUpRuns; ++i) TCC_RETURN_IF_ERROR(side.Run());
  return OkStatus();
}

// Makes the runs of a round, and returns the ratio of B's time to A's: of the faster of each one's
// two runs, since other processes hold up single runs.
StatusOr<double> TimedRound(Side& a, Side& b) {
  for (Side* side : {&a, &b, &b, &a}) {
    TCC_ASSIGN_OR_RETURN(double seconds, side->TimedRun());
    side->run_seconds.push_back(seconds);
  }
  auto faster = [](const Side& side) {
    return std::min(*side.run_seconds.rbegin(), *std::next(side.run_seconds.rbegin()));
  };
  return faster(b) / faster(a);
}

// Returns the seconds of each kernel in each run.
std::vector<std::vector<double>> KernelSeconds(const Profile& profile, size_t kernels) {
  std::vector<std::vector<double>> runs;
  for (const std::vector<ProfiledCall>& calls : profile.runs) {
    std::vector<double>& run = runs.emplace_back(kernels);
    for (const ProfiledCall& call : calls) run[call.kernel] += call.microseconds * 1e-6;
  }
  return runs;
}

double MedianMs(std::vector<double> seconds) {
  std::ranges::sort(seconds);
  return Median(seconds) * 1e3;
}

// Returns the sum over kernels of the least time of each.
double LeastSeconds(const std::vector<size_t>& kernels,
                    const std::vector<std::vector<double>>& runs) {
  double sum = 0;
  for (size_t kernel : kernels) {
    double least = runs[0][kernel];
    for (const std::vector<double>& run : runs) least = std::min(least, run[kernel]);
    sum += least;
  }
  return sum;
}

// Returns the sum over kernels of the faster of a round's two runs.
double SecondsOfRound(const std::vector<size_t>& kernels,
                      const std::vector<std::vector<double>>& runs, size_t round) {
  double sum = 0;
  for (size_t kernel : kernels)
    sum += std::min(runs[2 * round][kernel], runs[2 * round + 1][kernel]);
  return sum;
}

}  // namespace

RatioSpread SpreadOf(std::vector<double> ratios) {
  std::ranges::sort(ratios);
  return {Median(ratios), Percentile(ratios, 25), Percentile(ratios, 75)};
}

StatusOr<TimeComparison> CompareTimes(const Module& a_module, const Module& b_module, int rounds) {
  Side a(a_module), b(b_module);
  TCC_RETURN_IF_ERROR(WarmUp(a));
  TCC_RETURN_IF_ERROR(WarmUp(b));
  TimeComparison comparison;
  for (int round = 0; round < rounds; ++round) {
    TCC_ASSIGN_OR_RETURN(double ratio, TimedRound(a, b));
    comparison.ratios.push_back(ratio);
  }
  for (int round = 0; round < std::min(rounds, kMaxProfiledRounds); ++round) {
    for (Side* side : {&a, &b, &b, &a}) {
      auto run = [side] { return side->Run(); };
      TCC_RETURN_IF_ERROR(AddProfiledRuns(side->executor, run, 1, side->profile));
    }
  }
  comparison.timer = a.profile.timer;
  comparison.a_ms = MedianMs(std::move(a.run_seconds));
  comparison.b_ms = MedianMs(std::move(b.run_seconds));
  comparison.a_runs = KernelSeconds(a.profile, a_module.metadata().kernels.size());
  comparison.b_runs = KernelSeconds(b.profile, b_module.metadata().kernels.size());
  return comparison;
}

MatchTimes TimesOf(const KernelMatch& match, const TimeComparison& comparison) {
  MatchTimes times{.a_seconds = LeastSeconds(match.a, comparison.a_runs),
                   .b_seconds = LeastSeconds(match.b, comparison.b_runs),
                   .ratio = {}};
  std::vector<double> ratios;
  for (size_t round = 0; round < comparison.a_runs.size() / 2; ++round) {
    double a = SecondsOfRound(match.a, comparison.a_runs, round);
    double b = SecondsOfRound(match.b, comparison.b_runs, round);
    if (a > 0 && b > 0) ratios.push_back(b / a);
  }
  if (!ratios.empty()) times.ratio = SpreadOf(std::move(ratios));
  return times;
}

Explanation Explain(std::vector<double> lost_seconds, bool slower) {
  if (!slower) {
    for (double& lost : lost_seconds) lost = -lost;
  }
  std::ranges::sort(lost_seconds, std::greater<>());
  double difference = std::accumulate(lost_seconds.begin(), lost_seconds.end(), 0.0);
  if (difference <= 0) return {};
  Explanation explanation;
  double sum = 0;
  for (double lost : lost_seconds) {
    sum += lost;
    ++explanation.matches;
    explanation.percent = sum / difference * 100;
    if (explanation.percent >= kEnough) break;
  }
  return explanation;
}

std::string ExplanationText(const Explanation& explanation, bool slower) {
  const bool one = explanation.matches == 1;
  std::string text = Counted(explanation.matches, "kernel");
  if (explanation.percent < 100.5) {
    return text +
           fmt::format(" {} {:.0f} % of it", one ? "explains" : "explain", explanation.percent);
  }
  std::string verb = slower ? "lose" : "win";
  return text + fmt::format(" {} {:.2f} times as much, others {} the rest back",
                            one ? verb + "s" : verb, explanation.percent / 100,
                            slower ? "win" : "lose");
}

}  // namespace tcc
