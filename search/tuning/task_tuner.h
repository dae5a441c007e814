#pragma once

#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "search/database/database.h"
#include "search/model/nearest_ranker.h"
#include "search/model/online_training.h"
#include "search/searchers/searcher.h"
#include "search/space/task_history.h"

namespace tcc {

// Returns the shares of a batch for searchers that work together, by their recent gains; they add
// up to 1. A trial gains ln(best before / best after), and a little if it comes near to the best;
// later trials count more. Each searcher gets a floor and a part of the rest by its mean gain; one
// that has proposed nothing yet counts as good as the best.
std::vector<double> SharesOf(const TaskHistory& history, std::span<const std::string_view> names);

// The number of trials of a run before a task can be settled.
inline constexpr int64_t kSettledTrials = 96;

// The number of starts that may be built to find a reference, with which candidates are compared.
inline constexpr size_t kMaxStartsTried = 4;

// Returns the seed of a generator for the purpose that a text names.
uint64_t SeedFor(const std::string& text);

struct Proposal {
  SearchPoint point;
  std::string searcher;  // a row of Searchers(), "start" or "imported"
};

struct TaskTunerOptions {
  std::vector<const SearcherRow*> searchers;  // the searchers that share each batch
  uint64_t seed = 0;
  RunSettings settings = {};  // the settings that candidates are timed in
  bool starts = true;         // whether the starts of sketches are proposed before anything else
  // false: searchers predict from measured neighbours alone, without formulas.
  bool estimates = true;
  std::shared_ptr<const LearnedModel> model = {};  // the estimator's model; null: its prior alone
  bool trains = false;  // whether the estimator is trained on the task's trials as they come
};

// The tuner of one task: proposes what to measure and keeps the results. Suggestions come first,
// then the starts of the sketches, then the searchers' proposals, each with its share (SharesOf).
// Proposals depend on the seed, the task and its history alone, so that a resumed run needs no
// state but the records.
class TaskTuner {
 public:
  // The workload outlives the tuner.
  TaskTuner(const Workload& workload, const Target& target, const TaskTunerOptions& options);
  // Searches a space other than the whole one.
  TaskTuner(const Workload& workload, const Target& target, TaskSpace space,
            const TaskTunerOptions& options);

  // Adds earlier measurements to the history. Records whose sketch no longer exists are skipped.
  void Resume(std::span<const StoredTrial> trials);
  // Queues schedules to be proposed before all others, if they are still points of the space.
  void Suggest(std::span<const StoredTrial> trials);
  // Returns up to `count` points that were neither proposed nor measured; none: the task is
  // exhausted.
  std::vector<Proposal> Propose(size_t count);
  void Observe(const Proposal& proposal, const Measurement& measurement);
  // Returns whether no more gain is expected: the latest kSettledTrials trials that were timed
  // since Resume made the best less than 1 % faster together, though each searcher had its share of
  // them.
  bool IsSettled() const;

  TaskSpace& space() { return *space_; }
  const TaskHistory& history() const { return *history_; }
  // Returns the number of predictions so far.
  int64_t predictions() const { return ranker_->predictions(); }

 private:
  void AddSuggested(size_t count, std::vector<Proposal>& proposals);
  void AddStarts(size_t count, std::vector<Proposal>& proposals);
  void AddSearched(size_t count, std::vector<Proposal>& proposals);
  // Divides `count` proposals among the searchers.
  std::vector<size_t> Deal(size_t count) const;
  Random RandomFor(std::string_view name) const;
  void RetireSlowSketches();

  const Workload* workload_;
  TaskTunerOptions options_;
  std::unique_ptr<TaskSpace> space_;
  std::unique_ptr<TaskHistory> history_;
  std::unique_ptr<TaskEstimator> estimator_;  // null: there are no estimates
  std::optional<OnlineTraining> training_;    // of the estimator
  std::unique_ptr<NearestRanker> ranker_;
  std::vector<std::unique_ptr<Searcher>> searchers_;  // one per options_.searchers
  std::deque<SearchPoint> suggested_;
  size_t next_start_ = 0;
  size_t resumed_ = 0;  // the number of trials from earlier runs
};

}  // namespace tcc
