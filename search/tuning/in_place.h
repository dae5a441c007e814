#pragma once

#include <cstdint>
#include <optional>
#include <set>
#include <span>
#include <stop_token>
#include <vector>

#include "search/measure/network_measurer.h"

namespace tcc {

// How a challenger did beside its task's incumbent, in the same runs of the network.
struct InPlaceOutcome {
  // Its seconds to the incumbent's, the least of each. After a second look with the cost to its
  // consumers, and shrunk towards 1 as far as the times leave it in doubt.
  double ratio = 1;
  int64_t runs = 0;  // of the network with it
  bool won = false;  // it is the incumbent now
};

// The proof that a challenger owes before it becomes the incumbent.
struct Demand {
  double margin = 0.01;  // win by that part of the incumbent's seconds, beyond doubt
  double seconds = 0.4;  // over so long a second look, both sides together
};

// Candidates of all tasks of a network, compared where they run. Each task has an incumbent;
// challengers of many tasks at once are timed beside the incumbents, in runs that take turns, so
// that a machine whose speed wanders does to one what it does to the other.
class InPlaceContest {
 public:
  // `consumers` of each task: those that read what it makes, which are charged to its challenger
  // where they take longer beside it. Empty: nobody is. Cancelled, of what follows: a stop came.
  InPlaceContest(NetworkMeasurer& network, size_t tasks,
                 std::vector<std::set<size_t>> consumers = {}, std::stop_token stop = {});

  // Binds the first incumbent of every task and times the network.
  Status Begin(std::span<const std::vector<uint8_t>> incumbents);

  // Times one challenger for each task; an empty artefact: none, as for tasks that have no
  // incumbent. One that seems to beat its incumbent by the margin is timed again beside it, apart
  // from its consumers' challengers, and takes its place if it does once more. Where challengers
  // end the worker together, twice, each is tried alone. nullopt: there was none, or it ended two
  // workers alone.
  StatusOr<std::vector<std::optional<InPlaceOutcome>>> Challenge(
      std::span<const std::vector<uint8_t>> challengers, const Demand& demand);

  // Least seconds of the network with the incumbents and with `others`, one for each task that has
  // an incumbent, in runs that take turns. Aborted: the worker ended.
  struct Whole {
    double incumbents = 0;
    double others = 0;
  };
  StatusOr<Whole> CompareWhole(std::span<const std::vector<uint8_t>> others);

  // Seconds of the network, and of all calls of a task, with the incumbents: the least ever seen.
  double seconds() const { return seconds_; }
  int runs() const { return runs_; }  // of the network that are timed in a row
  double task_seconds(size_t task) const { return task_seconds_[task]; }

 private:
  struct Duel;
  std::vector<bool> TakeApart(std::vector<bool>& tasks) const;
  Status LookAgain(const std::vector<bool>& challenged, const Demand& demand,
                   std::vector<std::optional<InPlaceOutcome>>& outcomes);
  int RoundsIn(double seconds, int least, int most) const;
  StatusOr<std::vector<std::optional<InPlaceOutcome>>> ChallengeTogether(
      std::span<const std::vector<uint8_t>> challengers, const Demand& demand);
  // Runs the network; once more where the worker ended, which may have been anybody's doing.
  StatusOr<NetworkTiming> RunNetwork(std::span<const size_t> slots, int runs);
  Status BindChallengers(std::span<const std::vector<uint8_t>> challengers);
  // Adds rounds to a duel.
  Status Fight(const std::vector<bool>& challenged, int rounds, Duel& duel);

  NetworkMeasurer& network_;
  std::vector<std::set<size_t>> consumers_;
  std::stop_token stop_;
  std::vector<size_t> slot_;  // the incumbent's, by task
  double seconds_ = 0;
  std::vector<double> task_seconds_;
  int runs_ = 1;  // of the network in a row
};

}  // namespace tcc
