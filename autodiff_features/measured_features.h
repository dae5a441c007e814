#pragma once

#include <functional>
#include <string>
#include <vector>

#include "autodiff_features/learned_model.h"
#include "autodiff_features/measured_tasks.h"
#include "autodiff_features/train.h"
#include "support/status.h"

// Measured tasks beside what is predicted of them.
namespace tcc {

// ln seconds of each point of each task; NaN for what cannot be replayed.
using TaskPredictions = std::vector<std::vector<double>>;

struct MeasuredFeatures {
  std::vector<MeasuredTask> tasks;
  std::vector<std::vector<KernelFeatures>> features;  // of each point of each task
  std::vector<std::string> problems;                  // why points have none

  // The tasks that `keep` keeps.
  MeasuredFeatures Of(const std::function<bool(const MeasuredTask&)>& keep) const;

  TaskPredictions ByPrior() const;
  TaskPredictions ByModel(const LearnedModel& model) const;
  // For training: every task, without the points that cannot be replayed.
  std::vector<TrainingTask> ToTraining() const;
};

// Features of every point. Points whose features are not finite are told among the problems and
// count as those that cannot be replayed.
MeasuredFeatures FeaturesOf(std::vector<MeasuredTask> tasks, const Target& target,
                            const CpuProfile& profile);

// Error: no point has features; how many points there are and the first reason.
Status ExpectSomeReplay(const MeasuredFeatures& measured);

}  // namespace tcc
