#include "search/tuning/searcher_shares.h"

#include <algorithm>
#include <cmath>

namespace tcc {
namespace {

constexpr double kFloor = 0.1;      // of everything, in equal parts
constexpr double kMemory = 0.985;   // weight of a trial beside the next one: 0.8 after 15
constexpr double kNearGain = 0.05;  // of a trial near to the best
constexpr double kNear = 1.1;       // times the best
constexpr double kMinGain = 0.002;  // nobody is given up for good
constexpr double kDoubt = 2;        // trials without a gain that everyone is thought to have had

struct Gains {
  double sum = 0;
  double weights = 0;
};

double GainOf(const Trial& trial, double best) {
  if (trial.status != MeasureStatus::kOk || trial.seconds <= 0 || best <= 0) return 0;
  double gain = std::max(std::log(best / trial.seconds), 0.0);
  return gain + (trial.seconds <= kNear * best ? kNearGain : 0);
}

}  // namespace

std::vector<double> SharesOf(const TaskHistory& history, std::span<const std::string_view> names) {
  std::vector<Gains> gains(names.size());
  double best = 0;  // before the trial; 0: none
  for (const Trial& trial : history.trials()) {
    auto place = std::ranges::find(names, trial.searcher);
    for (Gains& of : gains) {
      of.sum *= kMemory;
      of.weights *= kMemory;
    }
    if (place != names.end()) {
      Gains& of = gains[static_cast<size_t>(place - names.begin())];
      of.sum += GainOf(trial, best);
      of.weights += 1;
    }
    bool faster = trial.status == MeasureStatus::kOk && (best == 0 || trial.seconds < best);
    if (faster) best = trial.seconds;
  }
  // Falls to the least while nothing new is known of a searcher.
  auto rate = [](const Gains& of) { return std::max(of.sum / (of.weights + kDoubt), kMinGain); };
  double most = kMinGain;
  for (const Gains& of : gains) {
    if (of.weights > 0) most = std::max(most, rate(of));
  }
  std::vector<double> shares;
  double sum = 0;
  for (const Gains& of : gains) {
    shares.push_back(of.weights > 0 ? rate(of) : most);
    sum += shares.back();
  }
  for (double& share : shares) {
    share = kFloor / static_cast<double>(names.size()) + (1 - kFloor) * share / sum;
  }
  return shares;
}

}  // namespace tcc
