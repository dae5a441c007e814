#include "autodiff_features/train_further.h"

#include <algorithm>
#include <cmath>

#include "autodiff_features/member_trainer.h"

namespace tcc {
namespace {

// A row that hardly differs among the points must not reach far beyond them.
constexpr double kMinDeviation = 0.25;

TrainingTask FinitePoints(const TrainingTask& task) {
  TrainingTask finite{.key = task.key, .points = {}};
  for (const TrainingPoint& point : task.points) {
    if (IsFinite(point.features) && std::isfinite(point.ln_seconds)) finite.points.push_back(point);
  }
  return finite;
}

std::vector<KernelFeatures> KernelsOf(const TrainingTask& task) {
  std::vector<KernelFeatures> kernels;
  for (const TrainingPoint& point : task.points) kernels.push_back(point.features);
  return kernels;
}

// Subtracts the mean error of the model.
void Centre(const LearnedModel& model, TrainingTask& task) {
  std::vector<LearnedModel::Prediction> predicted = model.Predict(KernelsOf(task));
  double sum = 0;
  for (size_t p = 0; p < predicted.size(); ++p) {
    sum += task.points[p].ln_seconds - predicted[p].ln_seconds;
  }
  double mean = sum / static_cast<double>(predicted.size());
  for (TrainingPoint& point : task.points) point.ln_seconds -= mean;
}

void AddMembers(const TrainingTask& task, const FurtherTraining& options, LearnedModel& model) {
  model.on_prior = true;
  model.scale = FeatureScale::Of(KernelsOf(task));
  for (double& deviation : model.scale.deviation) deviation = std::max(deviation, kMinDeviation);
  for (int m = 0; m < options.members; ++m) {
    model.members.push_back(Mlp::Drawn(options.seed + static_cast<uint64_t>(m), kBoundOnPrior));
  }
}

}  // namespace

LearnedModel TrainFurther(const LearnedModel& model, const TrainingTask& task,
                          const FurtherTraining& options) {
  LearnedModel trained = model;
  TrainingTask finite = FinitePoints(task);
  if (finite.points.empty()) return trained;
  Centre(model, finite);
  if (trained.members.empty()) AddMembers(finite, options, trained);
  std::vector<UsableTask> usable = UsableTasks({&finite, 1});
  for (size_t m = 0; m < trained.members.size(); ++m) {
    MemberTrainer trainer(usable, trained, trained.members[m], {.seed = options.seed + m});
    for (int step = 0; step < options.steps; ++step) {
      double progress = static_cast<double>(step) / options.steps;
      trainer.Step(CosineRate(options.first_rate, options.last_rate, progress));
    }
  }
  return trained;
}

}  // namespace tcc
