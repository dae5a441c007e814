#include "bench/estimator/curve_statistics.h"

#include <catch2/catch.hpp>

#include <cmath>
#include <limits>

using namespace tcc;

namespace {

constexpr double kNone = std::numeric_limits<double>::infinity();  // no right candidate yet

// Runs of two trials that are better, or worse, than runs that stay at 2.
Curves Runs(int better, int worse, int alike = 0) {
  Curves curves(static_cast<size_t>(better), {2, 1.5});
  curves.insert(curves.end(), static_cast<size_t>(worse), {3, 2});
  curves.insert(curves.end(), static_cast<size_t>(alike), {2, 2});
  return curves;
}

Curves Staying(size_t runs) {
  return Curves(runs, {2, 2});
}

}  // namespace

TEST_CASE("the median counts trials until a run is near the best", "[bench][search]") {
  CHECK(MedianTrialsWithin({{3, 2, 1}, {1, 1, 1}, {3, 1, 1}}, 1, 0) == 2);
  CHECK(MedianTrialsWithin({{1.2, 1.04, 1}}, 1, 0.05) == 2);
  CHECK(MedianTrialsWithin({{1.2, 1.04, 1}}, 1, 0.01) == 3);
  CHECK(MedianTrialsWithin({{2.4, 2.08, 2}}, 2, 0.05) == 2);
}

TEST_CASE("a run that does not get near counts one trial more than it has", "[bench][search]") {
  CHECK(MedianTrialsWithin({{3, 2, 2}}, 1, 0.05) == 4);
  CHECK(MedianTrialsWithin({{kNone, kNone, kNone}}, 1, 0.05) == 4);
  CHECK(MedianTrialsWithin({{3, 2, 2}, {1, 1, 1}, {2, 1, 1}}, 1, 0.05) == 2);
  CHECK(MedianTrialsWithin({{3, 2, 2}, {3, 2, 2}, {2, 1, 1}}, 1, 0.05) == 4);
}

TEST_CASE("the regret is the mean logarithm, inside its band", "[bench][search]") {
  const double e = std::exp(1.0);
  Curves curves;
  for (int run = 1; run <= 10; ++run) curves.push_back({100, std::exp(0.1 * run), 1});
  MeanRegret regret = RegretAfter(curves, 1, 2);
  CHECK(regret.mean == Approx(0.55));
  CHECK(regret.low < regret.mean);
  CHECK(regret.mean < regret.high);
  // The deviation of the mean of ten of them is 0.09.
  CHECK(regret.low == Approx(0.55 - 2 * 0.09).margin(0.05));
  CHECK(regret.high == Approx(0.55 + 2 * 0.09).margin(0.05));
  CHECK(RegretAfter(curves, 1 / e, 2).mean == Approx(1.55));
  // A run that has ended stays where it is.
  CHECK(RegretAfter(curves, 1, 3).mean == Approx(0));
  CHECK(RegretAfter(curves, 1, 100).mean == Approx(0));
}

TEST_CASE("the band is the same every time", "[bench][search]") {
  Curves curves;
  for (int run = 1; run <= 30; ++run) curves.push_back({1 + 1.0 / run});
  MeanRegret first = RegretAfter(curves, 1, 1), second = RegretAfter(curves, 1, 1);
  CHECK(first.mean == second.mean);
  CHECK(first.low == second.low);
  CHECK(first.high == second.high);
}

TEST_CASE("equal runs have a band of no width", "[bench][search]") {
  MeanRegret regret = RegretAfter(Curves(10, {3, 2}), 1, 2);
  CHECK(regret.mean == Approx(std::log(2)));
  CHECK(regret.low == Approx(regret.mean));
  CHECK(regret.high == Approx(regret.mean));
}

TEST_CASE("a run without a right candidate has a regret of 5", "[bench][search]") {
  CHECK(RegretAfter({{kNone}}, 1, 1).mean == 5);
  CHECK(RegretAfter({{kNone}, {1}}, 1, 1).mean == 2.5);
  CHECK(RegretAfter({{1e9}}, 1, 1).mean == 5);
}

TEST_CASE("the sign test is that of a fair coin", "[bench][search]") {
  CHECK(SignTest(Runs(10, 0), Staying(10), 1) == Approx(2.0 / 1024));
  CHECK(SignTest(Runs(0, 10), Staying(10), 1) == Approx(2.0 / 1024));
  CHECK(SignTest(Runs(5, 5), Staying(10), 1) == 1);
  // 1 + 10 + 45 of 1024 splits are as lopsided on one side.
  CHECK(SignTest(Runs(8, 2), Staying(10), 1) == Approx(2 * 56.0 / 1024));
}

TEST_CASE("ties are left out of the sign test", "[bench][search]") {
  CHECK(SignTest(Runs(10, 0, 7), Staying(17), 1) == Approx(2.0 / 1024));
  CHECK(SignTest(Staying(4), Staying(4), 1) == 1);
  CHECK(SignTest({}, {}, 1) == 1);
  CHECK(SignTest({{kNone, kNone}}, {{kNone, kNone}}, 1) == 1);
}

TEST_CASE("the sign test compares the whole of two runs of one seed", "[bench][search]") {
  // Both end alike; ours are earlier there.
  CHECK(SignTest(Curves(10, {4, 1, 1}), Curves(10, {4, 4, 1}), 1) == Approx(2.0 / 1024));
  // Each pair is ours, whatever the others take.
  const Curves ours = {{2}, {4}, {8}}, theirs = {{3}, {5}, {9}};
  CHECK(SignTest(ours, theirs, 1) == Approx(2.0 / 8));
}

TEST_CASE("Holm's correction multiplies by the tests that are left", "[bench][search]") {
  // Sorted, 0.005, 0.01, 0.03, 0.04 count 4, 3, 2, 1 times; none ends below the one before.
  const std::vector<double> given = {0.01, 0.04, 0.03, 0.005};
  const std::vector<double> expected = {0.03, 0.06, 0.06, 0.02};
  std::vector<double> corrected = HolmCorrected(given);
  REQUIRE(corrected.size() == expected.size());
  for (size_t i = 0; i < expected.size(); ++i) CHECK(corrected[i] == Approx(expected[i]));
}

TEST_CASE("a corrected probability is at most 1, and one test needs no correction",
          "[bench][search]") {
  CHECK(HolmCorrected(std::vector<double>{0.7, 0.6}) == std::vector<double>{1, 1});
  CHECK(HolmCorrected(std::vector<double>{0.04}) == std::vector<double>{0.04});
  CHECK(HolmCorrected({}).empty());
}
