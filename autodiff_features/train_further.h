#pragma once

#include <cstdint>

#include "autodiff_features/train.h"

namespace tcc {

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
