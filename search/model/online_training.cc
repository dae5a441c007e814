#include "search/model/online_training.h"

#include <algorithm>
#include <cmath>
#include <vector>

namespace tcc {
namespace {

constexpr double kNoise = 0.02;  // of a time, relative

}  // namespace

OnlineTraining::OnlineTraining(const TaskHistory& history, TaskEstimator& estimator, uint64_t seed)
    : history_(history), estimator_(estimator), seed_(seed) {}

bool OnlineTraining::Update() {
  std::vector<const Trial*> timed;
  for (const Trial& trial : history_.trials()) {
    if (HasTime(trial.status) && trial.seconds > 0) timed.push_back(&trial);
  }
  size_t seen = timed.size() / kTrainEvery * kTrainEvery;
  if (seen == seen_) return false;
  seen_ = seen;
  size_t count = std::min(seen, kTrainedTrials);
  TrainingTask task;
  for (const Trial* trial : std::span(timed).subspan(seen - count, count)) {
    const SketchFormulas* formulas = estimator_.Formulas(trial->point.sketch);
    if (!formulas) continue;
    task.points.push_back({.features = FeaturesAt(*formulas, {&trial->point.point, 1})[0],
                           .ln_seconds = std::log(trial->seconds),
                           .noise = kNoise,
                           .precise = trial->status == MeasureStatus::kOk});
  }
  if (task.points.empty()) return false;
  estimator_.Train(task, seed_);
  return true;
}

}  // namespace tcc
