#pragma once

#include <cstdint>
#include <optional>
#include <set>
#include <span>
#include <stop_token>
#include <vector>

#include "search/measure/measurer.h"

namespace tcc {

// The outcome of a challenger against its task's incumbent, in the same runs of the network.
struct InPlaceOutcome {
  // The ratio of its seconds to the incumbent's, the least of each. After a second duel it includes
  // the cost to its consumers and is shrunk towards 1 by the uncertainty of the times.
  double ratio = 1;
  int64_t runs = 0;  // the runs of the network with it
  bool won = false;  // whether it is the incumbent now
};

// The proof that a challenger owes before it becomes the incumbent.
struct Demand {
  double margin = 0.01;  // the share of the incumbent's seconds to win by, beyond doubt
  double seconds = 0.4;  // the length of the second duel, both sides together
};

// A contest of candidates of all tasks of a network, compared inside the network. Each task has an
// incumbent; challengers of many tasks at once are timed beside the incumbents, in alternating
// runs, so that drifts of the machine's speed affect both sides alike.
class InPlaceContest {
 public:
  // `consumers` are, per task, the tasks that read its result; if they take longer beside a
  // challenger, it is charged for that. Empty: no one is charged. A stop makes later calls return
  // Cancelled.
  InPlaceContest(NetworkMeasurer& network, size_t tasks,
                 std::vector<std::set<size_t>> consumers = {}, std::stop_token stop = {});

  // Binds the first incumbent of every task and times the network.
  Status Begin(std::span<const std::vector<uint8_t>> incumbents);

  // Times one challenger per task; an empty artefact means none, as for tasks without an incumbent.
  // A challenger that seems to beat its incumbent by the margin is timed again beside it, apart
  // from its consumers' challengers, and takes its place if it wins again. If challengers end the
  // worker together, twice, each is tried alone. nullopt: there was no challenger, or it ended two
  // workers alone.
  StatusOr<std::vector<std::optional<InPlaceOutcome>>> Challenge(
      std::span<const std::vector<uint8_t>> challengers, const Demand& demand);

  // The least seconds of the network with the incumbents and with `others`, one for each task that
  // has an incumbent, in alternating runs. Aborted: the worker ended.
  struct Whole {
    double incumbents = 0;
    double others = 0;
  };
  StatusOr<Whole> CompareWhole(std::span<const std::vector<uint8_t>> others);

  // Return the least seconds ever seen with the incumbents, of the network and of all calls of a
  // task.
  double seconds() const { return seconds_; }
  int runs() const { return runs_; }  // the runs of the network that are timed in a row
  double task_seconds(size_t task) const { return task_seconds_[task]; }

 private:
  struct Duel;
  std::vector<bool> TakeApart(std::vector<bool>& tasks) const;
  Status LookAgain(const std::vector<bool>& challenged, const Demand& demand,
                   std::vector<std::optional<InPlaceOutcome>>& outcomes);
  int RoundsIn(double seconds, int least, int most) const;
  StatusOr<std::vector<std::optional<InPlaceOutcome>>> ChallengeTogether(
      std::span<const std::vector<uint8_t>> challengers, const Demand& demand);
  // Runs the network, and once more if the worker ended, which any candidate may have caused.
  StatusOr<NetworkTiming> RunNetwork(std::span<const size_t> slots, int runs);
  Status BindChallengers(std::span<const std::vector<uint8_t>> challengers);
  // Adds rounds to a duel.
  Status Fight(const std::vector<bool>& challenged, int rounds, Duel& duel);

  NetworkMeasurer& network_;
  std::vector<std::set<size_t>> consumers_;
  std::stop_token stop_;
  std::vector<size_t> slot_;  // the incumbent's slot, by task
  double seconds_ = 0;
  std::vector<double> task_seconds_;
  int runs_ = 1;  // the runs of the network in a row
};

}  // namespace tcc
