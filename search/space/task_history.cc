#include "search/space/task_history.h"

#include <algorithm>
#include <map>

namespace tcc {

void TaskHistory::Add(Trial trial) {
  known_.insert(trial.point);
  trials_.push_back(std::move(trial));
}

const Trial* TaskHistory::best() const {
  const Trial* best = nullptr;
  for (const Trial& trial : trials_) {
    if (trial.status != MeasureStatus::kOk) continue;
    if (!best || trial.seconds < best->seconds) best = &trial;
  }
  return best;
}

std::vector<const Trial*> TaskHistory::BestBySketch() const {
  std::map<size_t, const Trial*> by_sketch;
  for (const Trial& trial : trials_) {
    if (trial.status != MeasureStatus::kOk) continue;
    const Trial*& best = by_sketch[trial.point.sketch];
    if (!best || trial.seconds < best->seconds) best = &trial;
  }
  std::vector<const Trial*> sorted;
  for (const auto& [sketch, trial] : by_sketch) sorted.push_back(trial);
  std::ranges::stable_sort(sorted, {}, &Trial::seconds);
  return sorted;
}

}  // namespace tcc
