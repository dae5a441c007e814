#pragma once

#include <cstdint>

#include "search/model/task_estimator.h"
#include "search/space/task_history.h"

namespace tcc {

// The training of a task's estimator on the task's own trials.
//
// After each kTrainEvery trials with a time the estimator's first model is trained anew, on the
// latest kTrainedTrials of all so far. The result depends on that model, these trials and the seed
// alone, so that a resumed run comes to the same one.
class OnlineTraining {
 public:
  static constexpr size_t kTrainEvery = 32;
  static constexpr size_t kTrainedTrials = 512;

  // Both outlive the object.
  OnlineTraining(const TaskHistory& history, TaskEstimator& estimator, uint64_t seed);

  // Trains if that many trials have come. Returns whether the estimator has another model now.
  bool Update();

 private:
  const TaskHistory& history_;
  TaskEstimator& estimator_;
  uint64_t seed_;
  size_t seen_ = 0;  // the number of trials that were looked at when the model was trained
};

}  // namespace tcc
