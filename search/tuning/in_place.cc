#include "search/tuning/in_place.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "support/check.h"
#include "support/stop.h"

namespace tcc {
namespace {

// Runs in a row take so long together at least: the first of short ones finds the caches as the
// other side left them.
constexpr double kRunsSeconds = 8e-3;
constexpr int kMaxRuns = 200;
constexpr int kFirstRounds = 2;
// The deviation of ln(ratio) over challengers that look faster: between equals and real gains.
constexpr double kUsualGain = 0.1;
// A second look that does not decide goes on, up to so many times its rounds.
constexpr int kMaxLooks = 2;
// A challenger that looked faster may have been lucky, as some of hundreds are: the second look
// takes at least so many rounds, and more where they are short.
constexpr int kMinSecondRounds = 3;
constexpr int kMaxSecondRounds = 40;
// Rounds of a comparison of the whole network: so many, more where they are short.
constexpr int kMinWholeRounds = 8;
constexpr int kMaxWholeRounds = 40;
constexpr double kWholeSeconds = 4;

// The two least of some times. Other work on the machine only ever adds to a time, so that the
// least is what repeats; how far the next one lies above it tells how well it is known.
struct LeastTimes {
  double least = std::numeric_limits<double>::infinity();
  double second = std::numeric_limits<double>::infinity();

  void Add(double seconds) {
    second = std::min(second, std::max(seconds, least));
    least = std::min(least, seconds);
  }
  // The deviation of ln(least), as far as two times tell.
  double Doubt() const { return least > 0 ? std::log(second / least) : 0; }
};

// ln(ratio) as it is expected where challengers differ by kUsualGain: of hundreds, those that look
// fastest were lucky too, and records that multiply their luck would leave the truth behind.
double Shrunk(double log_ratio, double doubt) {
  double usual = kUsualGain * kUsualGain;
  return std::isfinite(doubt) ? log_ratio * usual / (usual + doubt * doubt) : 0;
}

std::vector<bool> NotEmpty(std::span<const std::vector<uint8_t>> artefacts) {
  std::vector<bool> some;
  for (const std::vector<uint8_t>& artefact : artefacts) some.push_back(!artefact.empty());
  return some;
}

}  // namespace

// Times of the two sides: 0 incumbents, 1 challengers.
struct InPlaceContest::Duel {
  LeastTimes network[2];
  std::vector<LeastTimes> tasks[2];

  explicit Duel(size_t count) {
    for (size_t side : {0, 1}) tasks[side].resize(count);
  }

  void Add(size_t side, const NetworkTiming& timing) {
    network[side].Add(timing.seconds);
    for (size_t task = 0; task < timing.task_seconds.size(); ++task) {
      tasks[side][task].Add(timing.task_seconds[task]);
    }
  }

  double Ratio(size_t task) const {
    double incumbent = tasks[0][task].least;
    return incumbent > 0 ? tasks[1][task].least / incumbent : 1;
  }

  // The deviation of ln(Ratio).
  double Doubt(size_t task) const {
    return std::hypot(tasks[0][task].Doubt(), tasks[1][task].Doubt());
  }

  // Returns how much longer other kernels take beside the challenger, less the doubt about it, in
  // units of its incumbent's seconds. A kernel decides in which core's caches its consumers find
  // its result. Gains of others do not count: the challenger of a small kernel would live on the
  // luck of large ones.
  double CostToOthers(size_t task, const std::set<size_t>& others) const {
    double incumbent = tasks[0][task].least;
    double cost = 0;
    for (size_t other : others) {
      if (other == task) continue;
      double doubt = Doubt(other) * tasks[0][other].least;
      cost += std::max(tasks[1][other].least - tasks[0][other].least - doubt, 0.0);
    }
    return incumbent > 0 ? cost / incumbent : 0;
  }
};

InPlaceContest::InPlaceContest(NetworkMeasurer& network, size_t tasks,
                               std::vector<std::set<size_t>> consumers, std::stop_token stop)
    : network_(network),
      consumers_(std::move(consumers)),
      stop_(std::move(stop)),
      slot_(tasks, 0),
      task_seconds_(tasks, 0) {
  consumers_.resize(tasks);
}

StatusOr<NetworkTiming> InPlaceContest::RunNetwork(std::span<const size_t> slots, int runs) {
  StatusOr<NetworkTiming> timing = network_.Run(slots, runs);
  return absl::IsAborted(timing.status()) ? network_.Run(slots, runs) : timing;
}

Status InPlaceContest::Begin(std::span<const std::vector<uint8_t>> incumbents) {
  TCC_CHECK(incumbents.size() == slot_.size()) << incumbents.size();
  for (size_t task = 0; task < incumbents.size(); ++task) {
    if (incumbents[task].empty()) continue;
    TCC_RETURN_IF_ERROR(network_.Bind(task, slot_[task], incumbents[task]));
  }
  // The first run also makes what is prepared of constants.
  TCC_ASSIGN_OR_RETURN(NetworkTiming first, RunNetwork(slot_, 1));
  double wanted = std::ceil(kRunsSeconds / std::max(first.seconds, 1e-9));
  runs_ = static_cast<int>(std::clamp<double>(wanted, 1, kMaxRuns));
  TCC_ASSIGN_OR_RETURN(NetworkTiming timing, RunNetwork(slot_, runs_));
  seconds_ = timing.seconds;
  task_seconds_ = std::move(timing.task_seconds);
  return OkStatus();
}

// Runs the network in turn with all incumbents and with the challengers that are named.
Status InPlaceContest::Fight(const std::vector<bool>& challenged, int rounds, Duel& duel) {
  std::vector<size_t> slots[2] = {slot_, slot_};
  for (size_t task = 0; task < slot_.size(); ++task) {
    if (challenged[task]) slots[1][task] = 1 - slot_[task];
  }
  for (int round = 0; round < rounds; ++round) {
    TCC_RETURN_IF_ERROR(StopIfRequested(stop_));
    for (size_t turn : {0, 1}) {
      // Who comes first changes from round to round.
      size_t side = (turn + static_cast<size_t>(round)) % 2;
      TCC_ASSIGN_OR_RETURN(NetworkTiming timing, RunNetwork(slots[side], runs_));
      duel.Add(side, timing);
    }
  }
  seconds_ = std::min(seconds_, duel.network[0].least);
  for (size_t task = 0; task < slot_.size(); ++task) {
    task_seconds_[task] = std::min(task_seconds_[task], duel.tasks[0][task].least);
  }
  return OkStatus();
}

// Rounds of both sides that take so long together.
int InPlaceContest::RoundsIn(double seconds, int least, int most) const {
  double round_seconds = 2 * runs_ * std::max(seconds_, 1e-6);
  return static_cast<int>(std::clamp<double>(seconds / round_seconds, least, most));
}

Status InPlaceContest::BindChallengers(std::span<const std::vector<uint8_t>> challengers) {
  TCC_CHECK(challengers.size() == slot_.size()) << challengers.size();
  for (size_t task = 0; task < slot_.size(); ++task) {
    if (challengers[task].empty()) continue;
    TCC_RETURN_IF_ERROR(network_.Bind(task, 1 - slot_[task], challengers[task]));
  }
  return OkStatus();
}

StatusOr<InPlaceContest::Whole> InPlaceContest::CompareWhole(
    std::span<const std::vector<uint8_t>> others) {
  TCC_RETURN_IF_ERROR(BindChallengers(others));
  int rounds = RoundsIn(kWholeSeconds, kMinWholeRounds, kMaxWholeRounds);
  Duel duel(slot_.size());
  TCC_RETURN_IF_ERROR(Fight(NotEmpty(others), rounds, duel));
  return Whole{.incumbents = duel.network[0].least, .others = duel.network[1].least};
}

StatusOr<std::vector<std::optional<InPlaceOutcome>>> InPlaceContest::Challenge(
    std::span<const std::vector<uint8_t>> challengers, const Demand& demand) {
  TCC_ASSIGN_OR_RETURN(auto outcomes, ChallengeTogether(challengers, demand));
  std::vector<bool> some = NotEmpty(challengers);
  if (std::ranges::count(some, true) <= 1) return outcomes;
  for (size_t task = 0; task < some.size(); ++task) {
    if (!some[task] || outcomes[task]) continue;
    std::vector<std::vector<uint8_t>> alone(some.size());
    alone[task] = challengers[task];
    TCC_ASSIGN_OR_RETURN(auto outcome, ChallengeTogether(alone, demand));
    outcomes[task] = outcome[task];
  }
  return outcomes;
}

StatusOr<std::vector<std::optional<InPlaceOutcome>>> InPlaceContest::ChallengeTogether(
    std::span<const std::vector<uint8_t>> challengers, const Demand& demand) {
  std::vector<std::optional<InPlaceOutcome>> outcomes(slot_.size());
  TCC_RETURN_IF_ERROR(BindChallengers(challengers));
  std::vector<bool> challenged = NotEmpty(challengers);
  Duel first(slot_.size());
  Status fought = Fight(challenged, kFirstRounds, first);
  if (absl::IsAborted(fought)) return outcomes;
  TCC_RETURN_IF_ERROR(fought);
  std::vector<bool> promising(slot_.size(), false);
  for (size_t task = 0; task < slot_.size(); ++task) {
    if (!challenged[task]) continue;
    outcomes[task] = {.ratio = first.Ratio(task), .runs = kFirstRounds * runs_};
    promising[task] = outcomes[task]->ratio < 1 - demand.margin;
  }
  while (std::ranges::find(promising, true) != promising.end()) {
    TCC_RETURN_IF_ERROR(LookAgain(TakeApart(promising), demand, outcomes));
  }
  return outcomes;
}

// Takes tasks out of `tasks` of which none consumes what another one makes.
std::vector<bool> InPlaceContest::TakeApart(std::vector<bool>& tasks) const {
  std::vector<bool> taken(slot_.size(), false);
  for (size_t task = 0; task < slot_.size(); ++task) {
    if (!tasks[task]) continue;
    bool apart = true;
    for (size_t other = 0; other < slot_.size(); ++other) {
      if (!taken[other]) continue;
      apart = apart && !consumers_[task].contains(other) && !consumers_[other].contains(task);
    }
    if (!apart) continue;
    taken[task] = true;
    tasks[task] = false;
  }
  return taken;
}

Status InPlaceContest::LookAgain(const std::vector<bool>& challenged, const Demand& demand,
                                 std::vector<std::optional<InPlaceOutcome>>& outcomes) {
  int rounds = RoundsIn(demand.seconds, kMinSecondRounds, kMaxSecondRounds);
  double enough = std::log(1 - demand.margin);
  Duel duel(slot_.size());
  auto log_ratio = [&](size_t task) {
    return std::log(duel.Ratio(task) + duel.CostToOthers(task, consumers_[task]));
  };
  bool decided = false;
  for (int look = 0; look < kMaxLooks && !decided; ++look) {
    Status fought = Fight(challenged, rounds, duel);
    if (!fought.ok() && !absl::IsAborted(fought)) return fought;
    decided = true;
    for (size_t task = 0; task < slot_.size(); ++task) {
      if (!challenged[task]) continue;
      if (!fought.ok()) {
        outcomes[task].reset();
        continue;
      }
      outcomes[task]->runs += rounds * runs_;
      bool faster = log_ratio(task) < enough;
      decided = decided && (!faster || log_ratio(task) + duel.Doubt(task) < enough);
    }
    if (!fought.ok()) return OkStatus();
  }
  for (size_t task = 0; task < slot_.size(); ++task) {
    if (!challenged[task]) continue;
    InPlaceOutcome& outcome = *outcomes[task];
    outcome.ratio = std::exp(Shrunk(log_ratio(task), duel.Doubt(task)));
    outcome.won = log_ratio(task) + duel.Doubt(task) < enough;
    if (!outcome.won) continue;
    slot_[task] = 1 - slot_[task];
    task_seconds_[task] = duel.tasks[1][task].least;
  }
  return OkStatus();
}

}  // namespace tcc
