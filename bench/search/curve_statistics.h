#pragma once

#include <cstddef>
#include <span>
#include <vector>

namespace tcc {

// Curves of several runs, one for each seed: least seconds after each trial.
using Curves = std::vector<std::vector<double>>;

// Trials until a run is within `share` of the best: the median over runs, that many trials and one
// where a run does not get there.
double MedianTrialsWithin(const Curves& curves, double best_seconds, double share);

// Mean over runs of ln(seconds / best) after so many trials, and the bounds between which 95 % of
// 1,000 bootstrap samples of the runs lie. A run without a right candidate counts as e^5.
struct MeanRegret {
  double mean = 0;
  double low = 0, high = 0;
};
MeanRegret RegretAfter(const Curves& curves, double best_seconds, size_t trials);

// Probability of at least so lopsided a split of wins and losses between equals (sign test, two
// sided); ties are left out. Runs are paired by their seeds: a win is a lower area under
// ln(seconds / best).
double SignTest(const Curves& ours, const Curves& theirs, double best_seconds);

// Holm's correction of several tests: rejected where a result is below the level.
std::vector<double> HolmCorrected(std::span<const double> probabilities);

}  // namespace tcc
