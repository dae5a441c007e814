#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "autodiff_features/learned/adam.h"
#include "autodiff_features/learned/train.h"
#include "support/random.h"

namespace tcc {

// How far members may correct the prior's ln seconds.
inline constexpr double kBoundOnPrior = 2;

// A task's points that have finite numbers.
struct UsableTask {
  std::vector<const TrainingPoint*> points;
  double ln_best = 0;
};
// Leaves out tasks without such points. The result points into `tasks`.
std::vector<UsableTask> UsableTasks(std::span<const TrainingTask> tasks);

// The descent of one member of a model. Steps are on batches of tasks, drawn with replacement, by
// 32 points each.
class MemberTrainer {
 public:
  struct Options {
    size_t tasks = 1;  // of a batch
    uint64_t seed = 1;
  };
  // There is at least one task. All but the options outlive the trainer.
  MemberTrainer(std::span<const UsableTask> tasks, const LearnedModel& model, Mlp& member,
                const Options& options);

  size_t StepsOfEpoch() const;
  // Returns the loss before the step.
  double Step(double rate);

 private:
  std::vector<const TrainingPoint*> DrawPoints(const UsableTask& task);

  const LearnedModel& model_;
  Mlp& member_;
  Adam adam_;
  Random random_;
  size_t tasks_;                          // of a batch
  std::vector<const UsableTask*> drawn_;  // the member's own draw of all tasks
  size_t points_ = 0;
};

}  // namespace tcc
