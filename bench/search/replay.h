#pragma once

#include <functional>
#include <vector>

#include "search/tuning/task_tuner.h"

namespace tcc {

// The course of a search.
struct SearchCurve {
  std::vector<double> best;  // least seconds after each trial; infinite before the first right one
  int64_t predictions = 0;
  double cpu_seconds = 0;  // of the search alone
};

// A function that returns the measurements of points, in their order.
using PointTimes =
    std::function<StatusOr<std::vector<Measurement>>(std::span<const SearchPoint> points)>;

// Searches with the tuner that users run. `times` looks times up or measures them.
StatusOr<SearchCurve> RunSearch(TaskTuner& tuner, size_t trials, size_t batch,
                                const PointTimes& times);

}  // namespace tcc
