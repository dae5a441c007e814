#include "autodiff_features/noise_floor.h"

#include <cmath>

#include "support/random.h"

namespace tcc {

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
