#include "autodiff_features/measured_features.h"

#include <cmath>
#include <limits>

#include "autodiff_features/task_formulas.h"
#include "support/random.h"

namespace tcc {
namespace {

constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();

// Clears the points that have a non-finite feature. Returns how many.
size_t RemoveInfinite(std::vector<KernelFeatures>& features) {
  size_t removed = 0;
  for (KernelFeatures& point : features) {
    if (IsFinite(point) || (point.rows.empty() && std::isnan(point.ln_prior))) continue;
    point = {.rows = {}, .ln_prior = kNaN};
    ++removed;
  }
  return removed;
}

}  // namespace

MeasuredFeatures MeasuredFeatures::Of(const std::function<bool(const MeasuredTask&)>& keep) const {
  MeasuredFeatures kept;
  for (size_t t = 0; t < tasks.size(); ++t) {
    if (!keep(tasks[t])) continue;
    kept.tasks.push_back(tasks[t]);
    kept.features.push_back(features[t]);
  }
  return kept;
}

TaskPredictions MeasuredFeatures::ByPrior() const {
  TaskPredictions predictions;
  for (const std::vector<KernelFeatures>& of_task : features) {
    std::vector<double>& ln_seconds = predictions.emplace_back();
    for (const KernelFeatures& point : of_task) ln_seconds.push_back(point.ln_prior);
  }
  return predictions;
}

TaskPredictions MeasuredFeatures::ByModel(const LearnedModel& model) const {
  TaskPredictions predictions = ByPrior();
  for (size_t t = 0; t < features.size(); ++t) {
    std::vector<LearnedModel::Prediction> of_task = model.Predict(features[t]);
    for (size_t p = 0; p < of_task.size(); ++p) {
      if (!std::isnan(predictions[t][p])) predictions[t][p] = of_task[p].ln_seconds;
    }
  }
  return predictions;
}

std::vector<TrainingTask> MeasuredFeatures::ToTraining() const {
  std::vector<TrainingTask> training;
  for (size_t t = 0; t < tasks.size(); ++t) {
    TrainingTask& task = training.emplace_back();
    task.key = tasks[t].key;
    for (size_t p = 0; p < tasks[t].points.size(); ++p) {
      const MeasuredPoint& point = tasks[t].points[p];
      if (std::isnan(features[t][p].ln_prior)) continue;
      task.points.push_back({.features = features[t][p],
                             .ln_seconds = std::log(point.seconds),
                             .noise = point.noise,
                             .precise = point.precise});
    }
  }
  return training;
}

MeasuredFeatures FeaturesOf(std::vector<MeasuredTask> tasks, const Target& target,
                            const DeviceProfile& profile) {
  MeasuredFeatures result;
  for (const MeasuredTask& task : tasks) {
    TaskFormulas formulas = TaskFormulas::Of(task, target, profile);
    std::vector<KernelFeatures>& features = result.features.emplace_back(formulas.Features(task));
    const std::vector<std::string>& problems = formulas.problems();
    result.problems.insert(result.problems.end(), problems.begin(), problems.end());
    if (size_t removed = RemoveInfinite(features); removed > 0) {
      result.problems.push_back(PointProblem(task, "features that are not finite", removed));
    }
  }
  result.tasks = std::move(tasks);
  return result;
}

Status ExpectSomeReplay(const MeasuredFeatures& measured) {
  size_t points = 0;
  for (const std::vector<KernelFeatures>& of_task : measured.features) {
    for (const KernelFeatures& point : of_task) {
      if (!std::isnan(point.ln_prior)) return OkStatus();
    }
    points += of_task.size();
  }
  std::string reason = measured.problems.empty() ? "" : "; " + measured.problems[0];
  return InvalidInput(
      "expected measured points that can be replayed, got none in {} timed record{}{}", points,
      points == 1 ? "" : "s", reason);
}

TaskPredictions MeasuredAgain(std::span<const MeasuredTask> tasks, uint64_t seed) {
  Random random(seed);
  TaskPredictions predictions;
  for (const MeasuredTask& task : tasks) {
    std::vector<double>& ln_seconds = predictions.emplace_back();
    for (const MeasuredPoint& point : task.points) {
      ln_seconds.push_back(std::log(point.seconds) + point.noise * random.Normal());
    }
  }
  return predictions;
}

}  // namespace tcc
