#include "bench/estimator/curve_statistics.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "bench/median.h"
#include "support/random.h"

namespace tcc {
namespace {

constexpr double kMaxRegret = 5;    // ln; of a run before its first right candidate as well
constexpr int kBootstraps = 1000;   // resampled means, of which the bounds are percentiles
constexpr double kOutside = 0.025;  // share of the samples beyond each bound

double RegretAt(const std::vector<double>& curve, double best_seconds, size_t trials) {
  double regret = std::log(curve[std::min(trials, curve.size()) - 1] / best_seconds);
  return std::min(regret, kMaxRegret);
}

double AreaOf(const std::vector<double>& curve, double best_seconds) {
  double area = 0;
  for (size_t trials = 1; trials <= curve.size(); ++trials) {
    area += RegretAt(curve, best_seconds, trials);
  }
  return area;
}

double MeanOf(const std::vector<double>& values) {
  return std::accumulate(values.begin(), values.end(), 0.0) / static_cast<double>(values.size());
}

}  // namespace

double MedianTrialsWithin(const Curves& curves, double best_seconds, double share) {
  std::vector<double> trials;
  for (const std::vector<double>& curve : curves) {
    auto within = std::ranges::find_if(
        curve, [&](double seconds) { return seconds <= (1 + share) * best_seconds; });
    trials.push_back(static_cast<double>(within - curve.begin() + 1));
  }
  return MedianOf(std::move(trials));
}

MeanRegret RegretAfter(const Curves& curves, double best_seconds, size_t trials) {
  std::vector<double> regrets;
  for (const std::vector<double>& curve : curves) {
    regrets.push_back(RegretAt(curve, best_seconds, trials));
  }
  Random random(1);
  std::vector<double> means;
  for (int b = 0; b < kBootstraps; ++b) {
    std::vector<double> sample;
    for (size_t i = 0; i < regrets.size(); ++i) {
      sample.push_back(regrets[random.Below(regrets.size())]);
    }
    means.push_back(MeanOf(sample));
  }
  std::ranges::sort(means);
  auto outside = static_cast<size_t>(kOutside * kBootstraps);
  return {MeanOf(regrets), means[outside], means[means.size() - 1 - outside]};
}

double SignTest(const Curves& ours, const Curves& theirs, double best_seconds) {
  int wins = 0, losses = 0;
  for (size_t run = 0; run < std::min(ours.size(), theirs.size()); ++run) {
    double difference = AreaOf(ours[run], best_seconds) - AreaOf(theirs[run], best_seconds);
    wins += difference < 0;
    losses += difference > 0;
  }
  int pairs = wins + losses;
  // The smaller tail of a binomial distribution of probability 1/2, twice.
  double tail = 0;
  for (int k = 0; k <= std::min(wins, losses); ++k) {
    tail += std::exp(std::lgamma(pairs + 1) - std::lgamma(k + 1) - std::lgamma(pairs - k + 1) -
                     pairs * std::log(2.0));
  }
  return std::min(2 * tail, 1.0);
}

std::vector<double> HolmCorrected(std::span<const double> probabilities) {
  std::vector<size_t> order(probabilities.size());
  std::iota(order.begin(), order.end(), size_t{0});
  std::ranges::stable_sort(order, {}, [&](size_t i) { return probabilities[i]; });
  std::vector<double> corrected(probabilities.size());
  double largest = 0;
  for (size_t rank = 0; rank < order.size(); ++rank) {
    double scaled = probabilities[order[rank]] * static_cast<double>(order.size() - rank);
    largest = std::max(largest, std::min(scaled, 1.0));
    corrected[order[rank]] = largest;
  }
  return corrected;
}

}  // namespace tcc
