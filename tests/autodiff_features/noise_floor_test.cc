#include "autodiff_features/measured_features.h"

#include <catch2/catch.hpp>
#include <cmath>

#include "autodiff_features/rank_quality.h"

namespace tcc {
namespace {

// 40 tasks of 30 points that take 1 to 3 seconds, in steps of about 4 %.
std::vector<MeasuredTask> TasksWith(double noise) {
  std::vector<MeasuredTask> tasks(40);
  for (MeasuredTask& task : tasks) {
    for (size_t p = 0; p < 30; ++p) {
      double seconds = std::pow(3.0, static_cast<double>(p) / 30);
      task.points.push_back({.record = p, .set = {}, .seconds = seconds, .noise = noise});
    }
  }
  return tasks;
}

}  // namespace

TEST_CASE("Measuring again without noise puts every pair in order", "[autodiff_features]") {
  std::vector<MeasuredTask> tasks = TasksWith(0);
  RankQuality quality = QualityOf(tasks, MeasuredAgain(tasks, 1));
  CHECK(quality.PairAccuracy() == 1);
  CHECK(quality.regret_first == 0);
  CHECK(quality.regret_16 == 0);
  CHECK(quality.spearman == Approx(1));
}

TEST_CASE("Measuring again with much noise is a draw", "[autodiff_features]") {
  std::vector<MeasuredTask> tasks = TasksWith(0);
  RankQuality quality = QualityOf(tasks, MeasuredAgain(TasksWith(100), 1));
  RankQuality random = RandomQuality(tasks);
  CHECK(quality.PairAccuracy() == Approx(0.5).margin(0.03));
  CHECK(quality.regret_first == Approx(random.regret_first).margin(0.3));
  CHECK(quality.spearman == Approx(0).margin(0.1));
}

TEST_CASE("Pairs beyond their noise are seldom wrong when measured again", "[autodiff_features]") {
  // Noise of 10 % each: judged pairs are more than 20 % apart, 1.4 deviations of their difference.
  std::vector<MeasuredTask> tasks = TasksWith(0.1);
  RankQuality quality = QualityOf(tasks, MeasuredAgain(tasks, 1));
  CHECK(quality.PairAccuracy() > 0.95);
  CHECK(quality.PairAccuracy() < 1);
  CHECK(quality.regret_first > 0);
}

TEST_CASE("Measuring again is the same for the same seed", "[autodiff_features]") {
  std::vector<MeasuredTask> tasks = TasksWith(0.1);
  CHECK(MeasuredAgain(tasks, 3) == MeasuredAgain(tasks, 3));
  CHECK(MeasuredAgain(tasks, 3) != MeasuredAgain(tasks, 4));
}

}  // namespace tcc
