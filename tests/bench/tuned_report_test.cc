#include "bench/tuned_report.h"

#include <catch2/catch.hpp>
#include <nlohmann/json.hpp>

namespace tcc::test {
namespace {

TunedResult ResultOf(const char* suite, double start, double tuned, double peer) {
  return {.suite = suite,
          .kernel = "kernel",
          .threads = 2,
          .flops = 2e6,
          .peak_gflops = 100,
          .start = start,
          .tuned = tuned,
          .rules = tuned < start ? "tile" : "",
          .variant = 1,
          .peers = {{"onednn", peer}}};
}

TEST_CASE("a kernel is level with a peer that takes as long", "[bench]") {
  RatioSummary summary = SummaryOf({0.5, 1.0, 2.0, 1.0});
  CHECK(summary.kernels == 4);
  CHECK(summary.level == 3);
  CHECK(summary.median == 1.0);
  CHECK(summary.geometric_mean == Approx(1));
}

TEST_CASE("the median of an even number of ratios is the upper one in the middle", "[bench]") {
  CHECK(SummaryOf({0.5, 2.0}).median == 2.0);
}

TEST_CASE("tuned schedules and starts are summed up for each suite", "[bench]") {
  std::string text = TunedSummary({ResultOf("conv", 40, 10, 20), ResultOf("conv", 20, 20, 20)});
  CHECK(text ==
        "conv, 2 threads, tuned/onednn: median 1.00, geometric mean 0.71, 2 of 2 kernels at least "
        "level\n"
        "conv, 2 threads, start/onednn: median 2.00, geometric mean 1.41, 1 of 2 kernels at least "
        "level\n");
}

TEST_CASE("several suites are summed up together as well", "[bench]") {
  std::string text = TunedSummary({ResultOf("conv", 40, 10, 20), ResultOf("traces", 20, 20, 20)});
  CHECK_THAT(text, Catch::Contains("traces, 2 threads, tuned/onednn: median 1.00"));
  CHECK_THAT(text, Catch::Contains("all suites, 2 threads, tuned/onednn: median 1.00, geometric "
                                   "mean 0.71, 2 of 2 kernels"));
}

TEST_CASE("without peers there is nothing to sum up", "[bench]") {
  TunedResult alone = ResultOf("conv", 40, 10, 20);
  alone.peers.clear();
  CHECK(TunedSummary({alone}).empty());
  CHECK(nlohmann::json::parse(TunedJson({alone}))[0]["peer"].is_null());
}

TEST_CASE("a row says whose schedule ran", "[bench]") {
  CHECK_THAT(TunedRow(ResultOf("conv", 40, 10, 20)), Catch::EndsWith("tile of variant 1\n"));
  CHECK_THAT(TunedRow(ResultOf("conv", 40, 40, 20)), Catch::EndsWith("start\n"));
}

TEST_CASE("the JSON of tuned kernels has ratios of both schedules", "[bench]") {
  auto list = nlohmann::json::parse(
      TunedJson({ResultOf("conv", 40, 10, 20), ResultOf("conv", 40, 40, 20)}));
  REQUIRE(list.size() == 2);
  CHECK(list[0]["ratio"] == 0.5);
  CHECK(list[0]["start_ratio"] == 2.0);
  CHECK(list[0]["rules"] == "tile");
  CHECK(list[0]["variant"] == 1);
  CHECK(list[1]["rules"].is_null());
}

}  // namespace
}  // namespace tcc::test
