#pragma once

#include <functional>
#include <span>
#include <string>
#include <vector>

#include "autodiff_features/learned/learned_model.h"
#include "autodiff_features/learned/train.h"
#include "autodiff_features/measured_tasks.h"
#include "support/status.h"

// The measured tasks with their predictions.
namespace tcc {

// The predicted ln seconds of each point of each task; NaN for points that cannot be replayed.
using TaskPredictions = std::vector<std::vector<double>>;

struct MeasuredFeatures {
  std::vector<MeasuredTask> tasks;
  std::vector<std::vector<KernelFeatures>> features;  // per task and point
  std::vector<std::string> problems;                  // reasons why points have no features

  // Returns the tasks that `keep` accepts.
  MeasuredFeatures Of(const std::function<bool(const MeasuredTask&)>& keep) const;

  TaskPredictions ByPrior() const;
  TaskPredictions ByModel(const LearnedModel& model) const;
  // Returns every task for training, without the points that cannot be replayed.
  std::vector<TrainingTask> ToTraining() const;
};

// Computes the features of every point. Points whose features are not finite are reported among the
// problems and count as points that cannot be replayed.
MeasuredFeatures FeaturesOf(std::vector<MeasuredTask> tasks, const Target& target,
                            const DeviceProfile& profile);

// Checks that some point has features. Error: the number of points and the first reason.
Status ExpectSomeReplay(const MeasuredFeatures& measured);

// Returns the predictions of an oracle that knows the true times: ln seconds of each point of each
// task, moved by a normal draw times its noise. This is ln(1 + noise * draw) for small noise, and
// no time falls below 0 for any noise. Judged by the measured times, these predictions show what
// noise alone costs any predictor. Equal tasks and seeds give equal predictions.
TaskPredictions MeasuredAgain(std::span<const MeasuredTask> tasks, uint64_t seed);

}  // namespace tcc
