#include <algorithm>
#include <cmath>
#include <limits>

#include "search/tuning/tune_session.h"
#include "support/stop.h"
#include "support/threads.h"

namespace tcc {
namespace {

// Winners that do not make the network faster by that much together are not all believed.
constexpr double kMaxRatio = 0.99;
constexpr double kTurnSeconds = 20e-3;      // of one network in a comparison
constexpr double kComparisonSeconds = 1.5;  // of all its turns together
constexpr int kMaxRuns = 10000;
constexpr int kMinRounds = 3;
constexpr int kMaxRounds = 40;

// By task: the slot that it runs from.
using Mix = std::vector<size_t>;
constexpr size_t kConstructed = 0;  // slot of the constructed candidate
constexpr size_t kWinner = 1;       // slot of the fastest one

class WholeComparison {
 public:
  WholeComparison(TuneSession& session, NetworkMeasurer& network)
      : session_(session),
        network_(network),
        winners_(session.tasks().size()),
        kept_(session.tasks().size(), kConstructed) {}

  // Finds which winners to keep. Error: the network's, and then nothing is known of them.
  Status Run() {
    TCC_RETURN_IF_ERROR(BuildWinners());
    std::vector<size_t> all;
    for (size_t t = 0; t < winners_.size(); ++t) {
      if (!winners_[t].empty()) all.push_back(t);
    }
    if (all.empty()) return OkStatus();
    TCC_RETURN_IF_ERROR(BindAll());
    TCC_ASSIGN_OR_RETURN(std::vector<double> seconds, TimeInTurns({kept_, With(all)}));
    double ratio = seconds[1] / seconds[0];
    if (ratio <= kMaxRatio) {
      kept_ = With(all);
    } else {
      TCC_ASSIGN_OR_RETURN(ratio, KeepHalves(std::move(all)));
    }
    session_.result().network_constructed_seconds = seconds[0];
    session_.result().network_best_seconds = ratio * seconds[0];
    compared_ = true;
    return OkStatus();
  }

  // Records what Run found. Error: the database's.
  Status Record() {
    for (size_t t = 0; compared_ && t < winners_.size(); ++t) {
      TaskState& task = session_.tasks()[t];
      std::vector<StoredTrial> trials;
      if (!winners_[t].empty() && kept_[t] == kConstructed) {
        trials = {task.constructed};
        trials[0].measurement = {.seconds = task.result.constructed_seconds};
        task.result.in_place_ratio = 1;
        task.result.winner = task.constructed.searcher;
      }
      // Without a comparison the fastest record counts.
      TCC_RETURN_IF_ERROR(session_.RecordComparison(task, trials));
    }
    return OkStatus();
  }

 private:
  // Builds the fastest candidate of each task where it is used.
  Status BuildWinners() {
    return ForEachIndex(winners_.size(), session_.options().threads, [&](size_t t) {
      TaskState& task = session_.tasks()[t];
      const Trial* best = task.tuner->history().best();
      if (!best || best->searcher == task.constructed.searcher ||
          best->seconds >= kMinGain * task.result.constructed_seconds) {
        return OkStatus();
      }
      Candidate candidate = task.tuner->space().ToCandidate(best->point);
      BuiltCandidate built = session_.Build(task, {&candidate, 1})[0];
      if (built.status.ok()) winners_[t] = std::move(built.artefact);
      return OkStatus();
    });
  }

  Status BindAll() {
    for (size_t t = 0; t < winners_.size(); ++t) {
      TCC_RETURN_IF_ERROR(network_.Bind(t, kConstructed, session_.tasks()[t].reference));
      if (winners_[t].empty()) continue;
      TCC_RETURN_IF_ERROR(network_.Bind(t, kWinner, winners_[t]));
    }
    return OkStatus();
  }

  Mix With(std::span<const size_t> winners) const {
    Mix mix = kept_;
    for (size_t t : winners) mix[t] = kWinner;
    return mix;
  }

  // Runs the network, and once more if the worker ended, which any candidate may have caused.
  StatusOr<double> RunNetwork(const Mix& mix, int runs) {
    StatusOr<NetworkTiming> timing = network_.Run(mix, runs);
    if (absl::IsAborted(timing.status())) timing = network_.Run(mix, runs);
    if (!timing.ok()) return timing.status();
    return timing->seconds;
  }

  // Returns the least seconds of each mix: a drift of the clock affects all alike. A mix that ends
  // workers takes for ever, except for the first one, which is known to run.
  StatusOr<std::vector<double>> TimeInTurns(const std::vector<Mix>& mixes) {
    constexpr double kNever = std::numeric_limits<double>::infinity();
    TCC_ASSIGN_OR_RETURN(double once, RunNetwork(mixes[0], 1));
    once = std::max(once, 1e-9);
    const int runs =
        static_cast<int>(std::clamp<double>(std::ceil(kTurnSeconds / once), 1, kMaxRuns));
    const double round_seconds = static_cast<double>(mixes.size()) * runs * once;
    const int rounds = static_cast<int>(
        std::clamp<double>(kComparisonSeconds / round_seconds, kMinRounds, kMaxRounds));
    std::vector<double> least(mixes.size(), kNever);
    std::vector<bool> ends(mixes.size(), false);
    for (int round = 0; round < rounds; ++round) {
      TCC_RETURN_IF_ERROR(StopIfRequested(session_.options().stop));
      for (size_t turn = 0; turn < mixes.size(); ++turn) {
        // Who comes first changes from round to round.
        const size_t mix = (turn + static_cast<size_t>(round)) % mixes.size();
        if (ends[mix]) continue;
        StatusOr<double> seconds = RunNetwork(mixes[mix], runs);
        if (mix > 0 && absl::IsAborted(seconds.status())) {
          ends[mix] = true;
          least[mix] = kNever;
          continue;
        }
        TCC_RETURN_IF_ERROR(seconds.status());
        least[mix] = std::min(least[mix], *seconds);
      }
    }
    return least;
  }

  // Keeps the better half of the winners and looks for those to keep in the other one, and so on:
  // one that costs the network what the others gain is left over at the end. If no half makes the
  // network faster, both have such a one, and the better half alone is looked at further. Returns
  // the ratio of the network's seconds to those without winners.
  StatusOr<double> KeepHalves(std::vector<size_t> winners) {
    double ratio = 1;
    while (winners.size() > 1 && !session_.IsSpent()) {
      const auto middle = winners.begin() + std::ssize(winners) / 2;
      const std::vector<size_t> halves[] = {{winners.begin(), middle}, {middle, winners.end()}};
      TCC_ASSIGN_OR_RETURN(std::vector<double> seconds,
                           TimeInTurns({kept_, With(halves[0]), With(halves[1])}));
      const size_t better = seconds[1] <= seconds[2] ? 0 : 1;
      const bool gains = seconds[1 + better] < seconds[0];
      if (gains) {
        kept_ = With(halves[better]);
        ratio *= seconds[1 + better] / seconds[0];
      }
      winners = halves[gains ? 1 - better : better];
    }
    if (ratio <= kMaxRatio) return ratio;
    std::ranges::fill(kept_, kConstructed);
    return 1;
  }

  TuneSession& session_;
  NetworkMeasurer& network_;
  std::vector<std::vector<uint8_t>> winners_;  // by task: the artefact; empty: there is none
  Mix kept_;                                   // what is known to make the network faster
  bool compared_ = false;
};

}  // namespace

Status CompareWhole(TuneSession& session, NetworkMeasurer& network) {
  PhaseClock clock(session.result().phases.compare);
  WholeComparison comparison(session, network);
  Status status = comparison.Run();
  // The records of the search stand without it.
  if (!status.ok() && !absl::IsCancelled(status) && session.options().warn) {
    session.options().warn("the winners were not compared in the network: " + Message(status));
  }
  return comparison.Record();
}

}  // namespace tcc
