#include "cli/bench/percentiles.h"

#include <catch2/catch.hpp>
#include <numeric>
#include <random>

namespace tcc {
namespace {

std::vector<double> UpTo(size_t count) {
  std::vector<double> values(count);
  std::iota(values.begin(), values.end(), 1);
  return values;
}

TEST_CASE("a percentile is the least value that at least its percentage does not exceed",
          "[cli][bench]") {
  for (size_t count : {1, 2, 3, 7, 20, 50, 100, 101, 1000}) {
    std::vector<double> values = UpTo(count);
    for (double percent : {0.5, 1.0, 7.0, 50.0, 90.0, 95.0, 99.0, 99.5}) {
      INFO(count << " values, " << percent << " %");
      double value = Percentile(values, percent);
      // A value and its rank are equal here.
      CHECK(value * 100 >= percent * static_cast<double>(count));
      CHECK((value == 1 || (value - 1) * 100 < percent * static_cast<double>(count)));
      CHECK(static_cast<double>(CountBeyond(count, percent)) == static_cast<double>(count) - value);
    }
  }
}

TEST_CASE("percentiles rise with their percentage", "[cli][bench]") {
  std::mt19937 random(3);
  std::vector<double> values(77);
  for (double& value : values) value = std::uniform_real_distribution<double>(0, 9)(random);
  std::ranges::sort(values);
  double last = 0;
  for (double percent = 0.5; percent < 100; percent += 0.5) {
    CHECK(Percentile(values, percent) >= last);
    last = Percentile(values, percent);
  }
  CHECK(last == values.back());
}

TEST_CASE("a percentile beyond which less than one run lies is not told", "[cli][bench]") {
  CHECK_FALSE(SupportedPercentile(UpTo(50), 99).has_value());
  CHECK_FALSE(SupportedPercentile(UpTo(99), 99).has_value());
  CHECK(SupportedPercentile(UpTo(100), 99) == 99);
  CHECK(SupportedPercentile(UpTo(20), 95) == 19);
  CHECK_FALSE(SupportedPercentile(UpTo(1), 50).has_value());
}

TEST_CASE("the median is the 50th percentile by nearest rank", "[cli][bench]") {
  CHECK(Median(UpTo(1)) == 1);
  CHECK(Median(UpTo(4)) == 2);
  CHECK(Median(UpTo(5)) == 3);
}

TEST_CASE("percentiles are parsed in ascending order, and others are refused", "[cli][bench]") {
  CHECK(ParsePercentiles("50,90,99.9").value() == std::vector<double>{50, 90, 99.9});
  CHECK(ParsePercentiles("5").value() == std::vector<double>{5});
  for (const char* text : {"", "0", "100", "-5", "x", "50,", ",50", "50,50", "90,50", "50;90",
                           "nan", "inf", "5e1000"}) {
    INFO(text);
    StatusOr<std::vector<double>> parsed = ParsePercentiles(text);
    REQUIRE_FALSE(parsed.ok());
    CHECK(absl::IsFailedPrecondition(parsed.status()));
    CHECK_THAT(Message(parsed.status()), Catch::StartsWith("--percentiles: expected "));
  }
}

}  // namespace
}  // namespace tcc
