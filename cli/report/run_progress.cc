#include "cli/report/run_progress.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <map>
#include <utility>

namespace tcc {
namespace {

bool IsBest(const RunTrial& trial) {
  return trial.status == "ok" && trial.measured_seconds > 0 &&
         trial.measured_seconds <= trial.best_seconds;
}

// Follows the trials of a run.
class ProgressBuilder {
 public:
  explicit ProgressBuilder(const RunData& run) : run_(run), best_(run.tasks.size()) {
    progress_.tasks.resize(run.tasks.size());
  }

  RunProgress Build() && {
    FindStarts();
    AddNetworkPoint(0);
    for (const RunTrial& trial : run_.trials) Add(trial);
    if (!progress_.network.empty()) {
      progress_.network.push_back({run_.elapsed_seconds, progress_.network.back().y});
    }
    std::ranges::stable_sort(progress_.failures, std::ranges::greater{}, &FailureTally::count);
    return std::move(progress_);
  }

 private:
  // A task starts with its constructed schedule, or with what earlier runs found: then its first
  // trial or the end of the run has a best time that no trial of this run took.
  void FindStarts() {
    std::vector<bool> seen(best_.size());
    for (size_t t = 0; t < best_.size(); ++t) best_[t] = run_.tasks[t].constructed_seconds;
    for (const RunTrial& trial : run_.trials) {
      if (seen[trial.task]) continue;
      seen[trial.task] = true;
      if (!IsBest(trial)) Lower(trial.task, trial.best_seconds);
    }
    for (size_t t = 0; t < best_.size(); ++t) {
      if (!seen[t]) Lower(t, run_.tasks[t].best_seconds);
      progress_.tasks[t].start_seconds = best_[t];
    }
  }

  // Returns whether that is less than the task took before, where that is known.
  bool Lower(size_t task, double seconds) {
    if (seconds <= 0 || (best_[task] > 0 && seconds >= best_[task])) return false;
    return std::exchange(best_[task], seconds) > 0;
  }

  void Add(const RunTrial& trial) {
    TaskProgress& task = progress_.tasks[trial.task];
    size_t number = SearcherNamed(trial.searcher);
    SearcherTally& searcher = progress_.searchers[number];
    ++searcher.trials;
    if (trial.IsRight()) ++searcher.right;
    double before = best_[trial.task];
    bool improved = Lower(trial.task, trial.best_seconds) && IsBest(trial);
    task.trials += 1;
    task.marks.push_back({task.trials, trial.measured_seconds, number, improved});
    if (best_[trial.task] != before) {
      task.best.push_back({task.trials, best_[trial.task]});
      AddNetworkPoint(trial.at);
    }
    ++trials_;
    if (improved) {
      ++searcher.improvements;
      searcher.ln_gain += std::log(before / best_[trial.task]);
      searcher.gain.push_back({static_cast<double>(trials_), searcher.ln_gain});
    }
    if (!trial.IsRight()) AddFailure(trial);
  }

  size_t SearcherNamed(const std::string& name) {
    auto [place, is_new] = searchers_.emplace(name, progress_.searchers.size());
    if (is_new) progress_.searchers.emplace_back().name = name;
    return place->second;
  }

  void AddFailure(const RunTrial& trial) {
    auto [place, is_new] = failures_.emplace(trial.status, progress_.failures.size());
    if (is_new) {
      FailureTally& added = progress_.failures.emplace_back();
      added.status = trial.status;
      added.task = run_.tasks[trial.task].name;
    }
    FailureTally& failure = progress_.failures[place->second];
    ++failure.count;
    if (!failure.message.empty() || trial.message.empty()) return;
    failure.message = trial.message;
    failure.task = run_.tasks[trial.task].name;
  }

  void AddNetworkPoint(double at) {
    double constructed = 0, best = 0;
    for (size_t t = 0; t < best_.size(); ++t) {
      const RunTask& task = run_.tasks[t];
      if (task.constructed_seconds <= 0) continue;
      constructed += task.runs * task.constructed_seconds;
      best += task.runs * best_[t];
    }
    if (constructed > 0) progress_.network.push_back({at, best / constructed});
  }

  const RunData& run_;
  RunProgress progress_;
  std::vector<double> best_;  // by task, seconds so far; 0: not known
  std::map<std::string, size_t> searchers_, failures_;
  int64_t trials_ = 0;
};

}  // namespace

RunProgress ProgressOf(const RunData& run) {
  return ProgressBuilder(run).Build();
}

}  // namespace tcc
