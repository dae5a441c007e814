#include "bench/cpu/interleaved_timing.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <limits>
#include <thread>

#include "support/stopwatch.h"

namespace tcc {
namespace {

constexpr double kBatchSeconds = 3e-3;
constexpr auto kPause = std::chrono::milliseconds(2);

double SecondsOf(const std::function<void()>& work, int64_t calls) {
  Stopwatch stopwatch;
  for (int64_t i = 0; i < calls; ++i) work();
  return stopwatch.Seconds() / static_cast<double>(calls);
}

}  // namespace

std::vector<double> LeastSeconds(const std::vector<std::function<void()>>& contestants,
                                 int rounds) {
  std::vector<double> least(contestants.size(), std::numeric_limits<double>::infinity());
  for (int round = 0; round < rounds; ++round) {
    for (size_t i = 0; i < contestants.size(); ++i) {
      std::this_thread::sleep_for(kPause);
      double once = std::min(SecondsOf(contestants[i], 1), least[i]);
      auto calls = static_cast<int64_t>(std::ceil(kBatchSeconds / once));
      least[i] = std::min(least[i], SecondsOf(contestants[i], std::max<int64_t>(calls, 1)));
    }
  }
  return least;
}

}  // namespace tcc
