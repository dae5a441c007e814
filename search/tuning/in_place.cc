#include "search/tuning/in_place.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "ir/support/check.h"
#include "ir/support/stop.h"

namespace tcc {
namespace {

// Runs in a row take so long together at least: the first of short ones finds the caches as the
// other side left them.
constexpr double kRunsSeconds = 8e-3;
constexpr int kMostRuns = 200;
constexpr int kFirstRounds = 2;
// A challenger may help its consumers by so much of its incumbent's time; beyond, it is chance.
constexpr double kMostHelp = 0.25;
// Who looked faster may have been lucky, and of hundreds of candidates some are: the second look
// takes at least so many rounds, and more where they are short.
constexpr int kLeastSecondRounds = 3;
constexpr int kMostSecondRounds = 40;
// Rounds of a comparison of the whole network: so many, more where they are short.
constexpr int kLeastWholeRounds = 8;
constexpr int kMostWholeRounds = 40;
constexpr double kWholeSeconds = 4;

void TakeLeast(double& least, double value) {
  least = std::min(least, value);
}

std::vector<bool> NotEmpty(std::span<const std::vector<uint8_t>> artefacts) {
  std::vector<bool> some;
  for (const std::vector<uint8_t>& artefact : artefacts) some.push_back(!artefact.empty());
  return some;
}

}  // namespace

// Least seconds of the two sides: 0 incumbents, 1 challengers. Other work on the machine only ever
// adds to a time, so that the least of several is what repeats.
struct InPlaceContest::Duel {
  double seconds[2];
  std::vector<double> task_seconds[2];

  explicit Duel(size_t tasks) {
    for (size_t side : {0, 1}) {
      seconds[side] = std::numeric_limits<double>::infinity();
      task_seconds[side].assign(tasks, std::numeric_limits<double>::infinity());
    }
  }

  void Add(size_t side, const NetworkTiming& timing) {
    TakeLeast(seconds[side], timing.seconds);
    for (size_t task = 0; task < timing.task_seconds.size(); ++task) {
      TakeLeast(task_seconds[side][task], timing.task_seconds[task]);
    }
  }

  double Ratio(size_t task) const {
    double incumbent = task_seconds[0][task];
    return incumbent > 0 ? task_seconds[1][task] / incumbent : 1;
  }

  // By how much more time others take beside the challenger, in units of its incumbent's seconds.
  // A kernel decides in which core's caches its consumers find what it made.
  double CostToOthers(size_t task, const std::set<size_t>& others) const {
    double incumbent = task_seconds[0][task];
    if (incumbent <= 0) return 0;
    double cost = 0;
    for (size_t other : others) {
      if (other != task) cost += task_seconds[1][other] - task_seconds[0][other];
    }
    return std::max(cost / incumbent, -kMostHelp);
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
  runs_ = static_cast<int>(std::clamp<double>(wanted, 1, kMostRuns));
  TCC_ASSIGN_OR_RETURN(NetworkTiming timing, RunNetwork(slot_, runs_));
  seconds_ = timing.seconds;
  task_seconds_ = std::move(timing.task_seconds);
  return OkStatus();
}

// Runs the network in turn with all incumbents and with the challengers that are named.
StatusOr<InPlaceContest::Duel> InPlaceContest::Fight(const std::vector<bool>& challenged,
                                                     int rounds) {
  std::vector<size_t> slots[2] = {slot_, slot_};
  for (size_t task = 0; task < slot_.size(); ++task) {
    if (challenged[task]) slots[1][task] = 1 - slot_[task];
  }
  Duel duel(slot_.size());
  for (int round = 0; round < rounds; ++round) {
    TCC_RETURN_IF_ERROR(StopIfRequested(stop_));
    for (size_t turn : {0, 1}) {
      // Who comes first changes from round to round.
      size_t side = (turn + static_cast<size_t>(round)) % 2;
      TCC_ASSIGN_OR_RETURN(NetworkTiming timing, RunNetwork(slots[side], runs_));
      duel.Add(side, timing);
    }
  }
  TakeLeast(seconds_, duel.seconds[0]);
  for (size_t task = 0; task < slot_.size(); ++task) {
    TakeLeast(task_seconds_[task], duel.task_seconds[0][task]);
  }
  return duel;
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
  int rounds = RoundsIn(kWholeSeconds, kLeastWholeRounds, kMostWholeRounds);
  TCC_ASSIGN_OR_RETURN(Duel duel, Fight(NotEmpty(others), rounds));
  return Whole{.incumbents = duel.seconds[0], .others = duel.seconds[1]};
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
  StatusOr<Duel> first = Fight(challenged, kFirstRounds);
  if (absl::IsAborted(first.status())) return outcomes;
  if (!first.ok()) return first.status();
  std::vector<bool> promising(slot_.size(), false);
  for (size_t task = 0; task < slot_.size(); ++task) {
    if (!challenged[task]) continue;
    outcomes[task] = {.ratio = first->Ratio(task), .runs = kFirstRounds * runs_};
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
  int rounds = RoundsIn(demand.seconds, kLeastSecondRounds, kMostSecondRounds);
  StatusOr<Duel> duel = Fight(challenged, rounds);
  if (!duel.ok() && !absl::IsAborted(duel.status())) return duel.status();
  for (size_t task = 0; task < slot_.size(); ++task) {
    if (!challenged[task]) continue;
    if (!duel.ok()) {
      outcomes[task].reset();
      continue;
    }
    InPlaceOutcome& outcome = *outcomes[task];
    outcome.ratio = duel->Ratio(task) + duel->CostToOthers(task, consumers_[task]);
    outcome.runs += rounds * runs_;
    outcome.won = outcome.ratio < 1 - demand.margin;
    if (!outcome.won) continue;
    slot_[task] = 1 - slot_[task];
    task_seconds_[task] = duel->task_seconds[1][task];
  }
  return OkStatus();
}

}  // namespace tcc
