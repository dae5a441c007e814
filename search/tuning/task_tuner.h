#pragma once

#include <cstdint>
#include <deque>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "search/database/database.h"
#include "search/model/nearest_ranker.h"
#include "search/searchers/searcher.h"

namespace tcc {

// A task is settled at the earliest after so many trials of a run.
inline constexpr int64_t kSettledTrials = 96;

struct Proposal {
  SearchPoint point;
  std::string searcher;  // a row of Searchers(), "start" or "imported"
};

struct TaskTunerOptions {
  std::vector<const SearcherRow*> searchers;  // they share each batch
  uint64_t seed = 0;
  RunSettings settings = {};  // that candidates are timed in
  bool starts = true;         // of sketches are proposed before anything else
  // false: searchers expect of a point what its measured neighbours took, and know no formulas.
  bool estimates = true;
  std::shared_ptr<const LearnedModel> model = {};  // of the estimator; null: its prior alone
};

// Says what to measure of one task, and keeps what came of it: suggestions come first, then the
// starts of its sketches, then what the searchers propose, each its share (SharesOf). Proposals
// depend on the seed, the task and its history alone, so that a run that is resumed needs no state
// but the records.
class TaskTuner {
 public:
  // The workload outlives the tuner.
  TaskTuner(const Workload& workload, const Target& target, const TaskTunerOptions& options);
  // Searches a space other than the whole one.
  TaskTuner(const Workload& workload, const Target& target, TaskSpace space,
            const TaskTunerOptions& options);

  // Takes over what was measured before. Records whose sketch is no longer there are skipped.
  void Resume(std::span<const StoredTrial> trials);
  // Has schedules proposed before all others, as they are still points of the space.
  void Suggest(std::span<const StoredTrial> trials);
  // Up to `count` points that were neither proposed nor measured; none: the task is exhausted.
  std::vector<Proposal> Propose(size_t count);
  void Observe(const Proposal& proposal, const Measurement& measurement);
  // Whether no more is expected of the task: the latest kSettledTrials that were timed since Resume
  // made its best less than 1 % faster together, though each searcher had its share of them.
  bool IsSettled() const;

  TaskSpace& space() { return *space_; }
  const TaskHistory& history() const { return *history_; }
  // Predictions that were asked for so far.
  int64_t predictions() const { return ranker_->predictions(); }

 private:
  void AddSuggested(size_t count, std::vector<Proposal>& proposals);
  void AddStarts(size_t count, std::vector<Proposal>& proposals);
  void AddSearched(size_t count, std::vector<Proposal>& proposals);
  // How many of `count` proposals each searcher makes.
  std::vector<size_t> Deal(size_t count) const;
  Random RandomFor(std::string_view name) const;
  void RetireSlowSketches();

  const Workload* workload_;
  TaskTunerOptions options_;
  std::unique_ptr<TaskSpace> space_;
  std::unique_ptr<TaskHistory> history_;
  std::unique_ptr<TaskEstimator> estimator_;  // null: there are no estimates
  std::unique_ptr<NearestRanker> ranker_;
  std::vector<std::unique_ptr<Searcher>> searchers_;  // as options_.searchers
  std::deque<SearchPoint> suggested_;
  size_t next_start_ = 0;
  size_t resumed_ = 0;  // trials of the history that are of earlier runs
};

}  // namespace tcc
