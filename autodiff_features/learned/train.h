#pragma once

#include <functional>
#include <span>
#include <string>
#include <vector>

#include "autodiff_features/learned/learned_model.h"

namespace tcc {

struct TrainingPoint {
  KernelFeatures features;
  double ln_seconds = 0;  // measured
  double noise = 0;       // relative
  bool precise = true;    // false: timed by one run
};
// Returns whether all rows and the prior's time are finite numbers.
bool IsFinite(const KernelFeatures& kernel);

// The comparable points of one task; their order is to be learned.
struct TrainingTask {
  std::string key;
  std::vector<TrainingPoint> points;
};

struct TrainOptions {
  uint64_t seed = 1;
  int members = 5;
  int epochs = 40;
  bool on_prior = true;
  // Called after each epoch with the member, the epoch and its mean loss.
  std::function<void(int member, int epoch, double loss)> progress = {};
  // Called once if points have features or a time that are not finite, with their number.
  std::function<void(size_t points)> left_out = {};
};

// The loss of predictions (ln seconds) of some points of one task, and its slopes by them:
//
//   mean over points of w Huber(predicted - measured, 0.5), w = sqrt(clamp(best / t, 0.05, 1))
//   + 0.5 mean over pairs of 0.1 softplus(-(difference in the measured order) / 0.1)
//
// Pairs: both within 10 times the task's best, further apart than the noise of both. A point that
// is not precise has a third of the weight and a noise of at least kRoughNoise.
struct TaskLoss {
  double loss = 0;
  std::vector<double> slopes;
};
TaskLoss LossOf(std::span<const TrainingPoint* const> points, double ln_best,
                std::span<const double> predicted);
inline constexpr double kRoughNoise = 0.2;

// Trains an ensemble on the points that have finite numbers and the tasks that have such: Adam with
// a rate of 1e-3 falling to 1e-5, batches of 8 tasks by 32 points, each member from a seed of its
// own on a draw of the tasks with replacement. One thread; the same tasks in the same order and the
// same seed give the same bits. Error: no task has such points.
StatusOr<LearnedModel> Train(std::span<const TrainingTask> tasks, const DeviceProfile& profile,
                             const TrainOptions& options);

struct FurtherTraining {
  uint64_t seed = 1;
  int members = 3;  // of a model that has none yet
  int steps = 60;   // of each member, on a batch of 32 points each
  double first_rate = 3e-3, last_rate = 3e-4;
};

// Trains a model's members on the points of one task that have finite numbers; its feature scale
// stays. A model without members gets such that correct its prior, and the scale of the points.
//
// Only differences between the points are learned: times are divided by the mean factor that the
// model is wrong by, or the few steps would go into that. The same model, points and options give
// the same bits; without points the model stays.
LearnedModel TrainFurther(const LearnedModel& model, const TrainingTask& task,
                          const FurtherTraining& options);

}  // namespace tcc
