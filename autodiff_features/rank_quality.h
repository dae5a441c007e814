#pragma once

#include <optional>
#include <span>

#include "autodiff_features/measured_tasks.h"

// Measures of how well predictions rank the points of a task.
namespace tcc {

// Replaces NaN, a missing prediction, by infinity: predictions are then ordered.
double Comparable(double predicted);

struct PairCount {
  double right = 0;  // an equal prediction is half right
  int64_t pairs = 0;
};
// Counts the pairs of precise points that take at most `within` times the task's best and differ by
// more than the noise of both. `predicted`: ln seconds of each point of the task.
PairCount CountPairs(const MeasuredTask& task, std::span<const double> predicted, double within);

// Returns the seconds of the fastest of the first `count` points by prediction over those of the
// best point, minus 1. Among equal predictions the slower point comes first, so that nothing is won
// by luck.
double RegretOf(const MeasuredTask& task, std::span<const double> predicted, size_t count);
// Returns the mean of the same over all draws of `count` points.
double RandomRegret(const MeasuredTask& task, size_t count);

// Returns the same for the point that is compiled without a search; nullopt if there is none.
std::optional<double> StartRegret(const MeasuredTask& task);

// Returns Spearman's rank correlation over precise points, equal values with the mean of their
// ranks; 0 if all predictions are equal or there are fewer than 2 points.
double SpearmanOf(const MeasuredTask& task, std::span<const double> predicted);

// The figures over tasks: pairs of all tasks together, the others as means over tasks with at least
// kMinPoints points.
struct RankQuality {
  int64_t tasks = 0;  // the number of tasks in the means
  int64_t points = 0;
  PairCount pairs;
  double regret_first = 0;
  double regret_16 = 0;
  double spearman = 0;

  std::optional<double> PairAccuracy() const;  // nullopt without pairs
};
inline constexpr size_t kMinPoints = 16;
inline constexpr double kPairsWithin = 3;
inline constexpr size_t kRegretOfSome = 16;

// Computes the figures. `predicted[t]` are the predictions for tasks[t]; points without a number
// (NaN) come last.
RankQuality QualityOf(std::span<const MeasuredTask> tasks,
                      std::span<const std::vector<double>> predicted);
RankQuality RandomQuality(std::span<const MeasuredTask> tasks);
// Returns the mean of StartRegret over the tasks with at least kMinPoints points that have one.
std::optional<double> MeanStartRegret(std::span<const MeasuredTask> tasks);

}  // namespace tcc
