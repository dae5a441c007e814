#pragma once

#include <functional>
#include <span>
#include <vector>

#include "autodiff_features/cpu_profile.h"
#include "autodiff_features/measured_tasks.h"
#include "support/status.h"

namespace tcc {

struct FitOptions {
  int steps = 150;
  double first_rate = 0.05, last_rate = 0.002;
  // Points of a task that count, the same share of fast and slow ones.
  size_t points_of_task = 64;
  // Told after each step: its number and the mean loss.
  std::function<void(int step, double loss)> progress = {};
  // Told once if points have a time, prediction or slope that is not finite: the number of these
  // points.
  std::function<void(size_t points)> left_out = {};
};

// Constants of the prior that suit measured tasks: Adam on their logarithms from `start`, down the
// mean of Huber(ln predicted - ln measured, 0.5), points near a task's best weighing most, plus
// 0.01 * (ln of how far a constant went)^2 each, so that what no point depends on stays. Sizes of
// caches and their usable share stay: a step in a formula has no slope. Deterministic. Points that
// are not finite are left out. Error: no point is left.
StatusOr<CpuProfile> FitProfile(std::span<const MeasuredTask> tasks, const Target& target,
                                const CpuProfile& start, const FitOptions& options);

}  // namespace tcc
