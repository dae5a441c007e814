#pragma once

#include <cstddef>
#include <span>
#include <vector>

namespace tcc {

// The curves of several runs, one per seed: least seconds after each trial.
using Curves = std::vector<std::vector<double>>;

// Returns the trials until a run is within `share` of the best: the median over runs. A run that
// does not get there counts as all of its trials and one.
double MedianTrialsWithin(const Curves& curves, double best_seconds, double share);

// The mean over runs of ln(seconds / best) after a number of trials, and the bounds between which
// 95 % of 1,000 bootstrap samples of the runs lie. A run without a right candidate counts as e^5.
struct MeanRegret {
  double mean = 0;
  double low = 0, high = 0;
};
MeanRegret RegretAfter(const Curves& curves, double best_seconds, size_t trials);

// Returns the probability of at least so lopsided a split of wins and losses between equals (sign
// test, two sided); ties are left out. Runs are paired by their seeds: a win is a lower area under
// ln(seconds / best).
double SignTest(const Curves& ours, const Curves& theirs, double best_seconds);

// Returns the probabilities of several tests with Holm's correction: a test is rejected if its
// result is below the level.
std::vector<double> HolmCorrected(std::span<const double> probabilities);

}  // namespace tcc
