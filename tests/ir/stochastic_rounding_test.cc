#include "ir/expr/stochastic_rounding.h"

#include <catch2/catch.hpp>
#include <cmath>
#include <limits>
#include <set>

namespace tcc {
namespace {

const DType kBFloat16(DTypeCode::kBFloat16);

std::set<double> ResultsOf(DType type, double value) {
  std::set<double> results;
  for (uint64_t seed = 0; seed < 200; ++seed) {
    results.insert(RoundStochastically(type, value, seed));
  }
  return results;
}

TEST_CASE("values between two of a narrow type become either", "[ir]") {
  CHECK(ResultsOf(kFloat16, 1 + 0x1p-12) == std::set<double>{1, 1 + 0x1p-10});
  CHECK(ResultsOf(kFloat16, -3.001) == std::set<double>{-3 - 0x1p-9, -3});
  CHECK(ResultsOf(kBFloat16, 1 + 0x1p-8) == std::set<double>{1, 1 + 0x1p-7});
  CHECK(ResultsOf(DTypeCode::kTFloat32, 1 - 0x1p-13) == std::set<double>{1 - 0x1p-11, 1});
  CHECK(ResultsOf(kFloat16, 0x1p-25) == std::set<double>{0, 0x1p-24});
}

TEST_CASE("what the type holds, and what no choice is left for, is not touched", "[ir]") {
  for (double value : {0.0, 1.0, -0.5, 65504.0, 0x1p-24}) {
    CHECK(ResultsOf(kFloat16, value) == std::set<double>{value});
  }
  CHECK(ResultsOf(kFloat16, 65519) == std::set<double>{65504});
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  CHECK(ResultsOf(kFloat16, 65521) == std::set<double>{kInfinity});
  CHECK(ResultsOf(kFloat16, -kInfinity) == std::set<double>{-kInfinity});
  CHECK(std::isnan(RoundStochastically(kFloat16, std::nan(""), 1)));
  CHECK(ResultsOf(kFloat32, 0.1) == std::set<double>{0.1F});
}

TEST_CASE("the mean of stochastic roundings is the value", "[ir]") {
  double value = 1 + 0.3 * 0x1p-10;
  double sum = 0;
  constexpr int kDraws = 10000;
  for (int seed = 0; seed < kDraws; ++seed) sum += RoundStochastically(kFloat16, value, seed);
  // The mean's deviation is sqrt(0.3 * 0.7 / 10000) = 0.0046 steps.
  CHECK(std::fabs(sum / kDraws - value) < 5 * 0.0046 * 0x1p-10);
}

}  // namespace
}  // namespace tcc
