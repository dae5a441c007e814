#include "autodiff_features/rank_quality.h"

#include <bit>
#include <catch2/catch.hpp>
#include <cmath>
#include <limits>

#include "support/random.h"

namespace tcc {
namespace {

constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();

MeasuredTask TaskWith(const std::vector<double>& seconds, double noise = 0) {
  MeasuredTask task;
  for (size_t p = 0; p < seconds.size(); ++p) {
    task.points.push_back({.record = p, .set = {}, .seconds = seconds[p], .noise = noise});
  }
  return task;
}

// 1, 1.1, 1.2 ..
MeasuredTask RisingTask(size_t points) {
  std::vector<double> seconds;
  for (size_t p = 0; p < points; ++p) seconds.push_back(1 + 0.1 * static_cast<double>(p));
  return TaskWith(seconds);
}

// 0, step, 2 step ..
std::vector<double> Steps(size_t points, double step) {
  std::vector<double> predicted;
  for (size_t p = 0; p < points; ++p) predicted.push_back(step * static_cast<double>(p));
  return predicted;
}

void CheckPairs(const MeasuredTask& task, const std::vector<double>& predicted, double right,
                int64_t pairs) {
  PairCount count = CountPairs(task, predicted, kPairsWithin);
  CHECK(count.right == right);
  CHECK(count.pairs == pairs);
}

// The mean over every set of `count` points, one after another.
double RegretOverSubsets(const MeasuredTask& task, size_t count) {
  size_t points = task.points.size(), drawn = std::min(count, points);
  double sum = 0;
  int64_t subsets = 0;
  for (uint64_t subset = 0; subset < uint64_t{1} << points; ++subset) {
    if (static_cast<size_t>(std::popcount(subset)) != drawn) continue;
    double fastest = std::numeric_limits<double>::infinity();
    for (size_t p = 0; p < points; ++p) {
      if (subset >> p & 1) fastest = std::min(fastest, task.points[p].seconds);
    }
    sum += fastest / task.BestSeconds() - 1;
    ++subsets;
  }
  return sum / static_cast<double>(subsets);
}

}  // namespace

TEST_CASE("A pair is right where the faster point is predicted faster", "[autodiff_features]") {
  MeasuredTask task = TaskWith({1, 2, 2.9});
  CheckPairs(task, {0, 1, 2}, 3, 3);
  CheckPairs(task, {0, 2, 1}, 2, 3);
  CheckPairs(task, {2, 1, 0}, 0, 3);
  CheckPairs(TaskWith({2.9, 1, 2}), {2, 0, 1}, 3, 3);
  CheckPairs(TaskWith({1}), {0}, 0, 0);
  CheckPairs(TaskWith({}), {}, 0, 0);
}

TEST_CASE("Equal predictions are half right", "[autodiff_features]") {
  CheckPairs(TaskWith({1, 2, 2.9}), {7, 7, 7}, 1.5, 3);
  CheckPairs(TaskWith({1, 2, 2.9}), {0, 7, 7}, 2.5, 3);
}

TEST_CASE("Points that differ by no more than the noise of both make no pair",
          "[autodiff_features]") {
  // ln 1.03 = 0.0296, ln 1.05 = 0.0488
  CheckPairs(TaskWith({1, 1.03}, 0.02), {0, 1}, 0, 0);
  CheckPairs(TaskWith({1, 1.05}, 0.02), {0, 1}, 1, 1);
  CheckPairs(TaskWith({1.05, 1}, 0.02), {0, 1}, 0, 1);
  CheckPairs(TaskWith({1, 1}), {0, 1}, 0, 0);
  MeasuredTask uneven = TaskWith({1, 1.05}, 0.02);
  uneven.points[1].noise = 0.03;
  CheckPairs(uneven, {0, 1}, 0, 0);
}

TEST_CASE("Points beyond three times the best and imprecise points make no pair",
          "[autodiff_features]") {
  CheckPairs(TaskWith({1, 2, 3, 3.01}), {0, 1, 2, 3}, 3, 3);
  CHECK(CountPairs(TaskWith({1, 2, 3, 3.01}), Steps(4, 1), 2).pairs == 1);
  // The best is the best of all points, whether timed precisely or not.
  MeasuredTask task = TaskWith({1, 2, 2.5, 3.5});
  task.points[0].precise = false;
  CheckPairs(task, {9, 1, 2, 0}, 1, 1);
}

TEST_CASE("A point without a prediction comes last", "[autodiff_features]") {
  CheckPairs(TaskWith({1, 2}), {kNaN, 5}, 0, 1);
  CheckPairs(TaskWith({1, 2}), {5, kNaN}, 1, 1);
  CheckPairs(TaskWith({1, 2}), {kNaN, kNaN}, 0.5, 1);
  MeasuredTask task = TaskWith({1, 2, 3});
  CHECK(RegretOf(task, std::vector<double>{kNaN, 5, 4}, 1) == 2);
  CHECK(RegretOf(task, std::vector<double>{kNaN, 5, 4}, 2) == 1);
  CHECK(RegretOf(task, std::vector<double>{kNaN, 5, 4}, 3) == 0);
  CHECK(RegretOf(task, std::vector<double>{kNaN, kNaN, kNaN}, 1) == 2);
  CHECK(SpearmanOf(task, std::vector<double>{0, 1, kNaN}) == Approx(1));
  CHECK(SpearmanOf(task, std::vector<double>{kNaN, 1, 0}) == Approx(-1));
}

TEST_CASE("Regret takes the slower of equally predicted points first", "[autodiff_features]") {
  MeasuredTask task = TaskWith({4, 2, 8});
  CHECK(RegretOf(task, std::vector<double>{0, 0, 1}, 1) == 1);
  CHECK(RegretOf(task, std::vector<double>{0, 0, 1}, 2) == 0);
  CHECK(RegretOf(task, std::vector<double>{1, 0, 0}, 1) == 3);
  CHECK(RegretOf(task, std::vector<double>{0, 0, 0}, 1) == 3);
  CHECK(RegretOf(task, std::vector<double>{0, 0, 0}, 2) == 1);
  CHECK(RegretOf(task, std::vector<double>{1, 0, 2}, 1) == 0);
  CHECK(RegretOf(task, std::vector<double>{1, 2, 0}, 100) == 0);
  CHECK(RegretOf(TaskWith({}), {}, 1) == 0);
}

TEST_CASE("Regret looks at imprecise points, too", "[autodiff_features]") {
  MeasuredTask task = TaskWith({4, 2, 8});
  task.points[2].precise = false;
  CHECK(RegretOf(task, std::vector<double>{1, 2, 0}, 1) == 3);
}

TEST_CASE("The regret of a draw is the mean over all subsets", "[autodiff_features]") {
  Random random(6);
  for (size_t points = 1; points <= 7; ++points) {
    for (int round = 0; round < 5; ++round) {
      std::vector<double> seconds;
      for (size_t p = 0; p < points; ++p) {
        seconds.push_back(round == 0 ? 1 + static_cast<double>(random.Below(2))
                                     : random.Unit() + 1);
      }
      MeasuredTask task = TaskWith(seconds);
      for (size_t count = 1; count <= points + 1; ++count) {
        INFO(count << " of " << points);
        CHECK(RandomRegret(task, count) ==
              Approx(RegretOverSubsets(task, count)).epsilon(1e-12).margin(1e-12));
      }
    }
  }
  CHECK(RandomRegret(TaskWith({}), 3) == 0);
}

TEST_CASE("Spearman's correlation gives equal values the mean of their ranks",
          "[autodiff_features]") {
  MeasuredTask task = TaskWith({1, 2, 3, 4});
  auto spearman = [&](std::vector<double> predicted) { return SpearmanOf(task, predicted); };
  CHECK(spearman({-9, -8, -7, 100}) == Approx(1));
  CHECK(spearman({4, 3, 2, 1}) == Approx(-1));
  CHECK(spearman({1, 3, 2, 4}) == Approx(0.8));
  // Ranks 0.5 0.5 2.5 2.5 against 0 1 2 3: 4 / sqrt(4 * 5).
  CHECK(spearman({5, 5, 7, 7}) == Approx(4 / std::sqrt(20.0)));
  CHECK(spearman({5, 5, 5, 5}) == 0);
  // Ranks 0.5 0.5 2 against 0 1.5 1.5: 0.75 / 1.5.
  CHECK(SpearmanOf(TaskWith({1, 1, 2}), std::vector<double>{1, 2, 2}) == Approx(0.5));
  CHECK(SpearmanOf(TaskWith({3, 3, 3}), Steps(3, 1)) == 0);
}

TEST_CASE("Spearman's correlation leaves imprecise points out", "[autodiff_features]") {
  MeasuredTask task = TaskWith({1, 2, 3, 4});
  task.points[3].precise = false;
  CHECK(SpearmanOf(task, std::vector<double>{1, 2, 3, 0}) == Approx(1));
  task.points[2].precise = task.points[1].precise = false;
  CHECK(SpearmanOf(task, Steps(4, 1)) == 0);
  CHECK(SpearmanOf(TaskWith({}), {}) == 0);
}

TEST_CASE("Pairs of tasks are summed, other figures are means over tasks of 16 points and more",
          "[autodiff_features]") {
  // 120 pairs in order, 136 in reverse, one of equal predictions; 4 lies beyond three times 1.
  std::vector<MeasuredTask> tasks = {RisingTask(16), RisingTask(17), TaskWith({1, 2, 4})};
  std::vector<std::vector<double>> predicted = {Steps(16, 1), Steps(17, -1), Steps(3, 0)};
  RankQuality quality = QualityOf(tasks, predicted);
  CHECK(quality.tasks == 2);
  CHECK(quality.points == 36);
  CHECK(quality.pairs.pairs == 120 + 136 + 1);
  CHECK(quality.pairs.right == 120.5);
  CHECK(quality.PairAccuracy().value() == Approx(120.5 / 257));
  CHECK(quality.regret_first == Approx((0 + 1.6) / 2));
  CHECK(quality.regret_16 == Approx((0 + 0.1) / 2));
  CHECK(quality.spearman == Approx(0).margin(1e-12));

  RankQuality random = RandomQuality(tasks);
  CHECK(random.tasks == 2);
  CHECK(random.points == 36);
  CHECK(random.pairs.pairs == 257);
  CHECK(random.PairAccuracy().value() == 0.5);
  CHECK(random.regret_first == Approx((0.75 + 0.8) / 2));
  // One draw of 17 misses the best of 17 points.
  CHECK(random.regret_16 == Approx((0 + 0.1 / 17) / 2));
  CHECK(random.spearman == 0);
}

TEST_CASE("Tasks of fewer than 16 points have pairs and no means", "[autodiff_features]") {
  std::vector<MeasuredTask> tasks = {RisingTask(15)};
  std::vector<std::vector<double>> predicted = {Steps(15, -1)};
  for (const RankQuality& quality : {QualityOf(tasks, predicted), RandomQuality(tasks)}) {
    CHECK(quality.tasks == 0);
    CHECK(quality.points == 15);
    CHECK(quality.pairs.pairs == 105);
    CHECK(quality.regret_first == 0);
    CHECK(quality.regret_16 == 0);
    CHECK(quality.spearman == 0);
  }
  CHECK(RandomQuality({}).points == 0);
}

TEST_CASE("Without pairs there is no share of pairs that are right", "[autodiff_features]") {
  CHECK_FALSE(QualityOf({}, {}).PairAccuracy().has_value());
  std::vector<MeasuredTask> tasks = {TaskWith({1, 1})};
  std::vector<std::vector<double>> predicted = {Steps(2, 1)};
  CHECK_FALSE(QualityOf(tasks, predicted).PairAccuracy().has_value());
  CHECK_FALSE(RandomQuality(tasks).PairAccuracy().has_value());
}

}  // namespace tcc
