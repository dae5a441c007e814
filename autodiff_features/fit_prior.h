#pragma once

#include <functional>
#include <span>
#include <vector>

#include "autodiff_features/cpu/cpu_profile.h"
#include "autodiff_features/measured_tasks.h"
#include "support/status.h"

namespace tcc {

struct FitOptions {
  int steps = 150;
  double first_rate = 0.05, last_rate = 0.002;
  // The number of points per task that count, the same share of fast and slow ones.
  size_t points_of_task = 64;
  // Called after each step with its number and the mean loss.
  std::function<void(int step, double loss)> progress = {};
  // Called once if points have a time, prediction or slope that is not finite, with their number.
  std::function<void(size_t points)> left_out = {};
};

// Fits the constants of the prior to measured tasks: Adam on their logarithms from `start`
// minimizes the mean of Huber(ln predicted - ln measured, 0.5), where points near a task's best
// weigh most, plus 0.01 * (ln of a constant's change)^2 per constant, so that a constant without
// influence stays. The cache sizes and their usable share stay: a step in a formula has no slope.
// Deterministic. Points that are not finite are left out. Error: no point is left.
StatusOr<CpuProfile> FitProfile(std::span<const MeasuredTask> tasks, const Target& target,
                                const CpuProfile& start, const FitOptions& options);

}  // namespace tcc
