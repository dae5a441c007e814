#include "cli/bench/load.h"

#include <atomic>
#include <catch2/catch.hpp>
#include <chrono>
#include <cmath>
#include <limits>
#include <thread>

namespace tcc {
namespace {

using Runs = std::vector<std::function<Status()>>;

// Streams that count their runs.
struct Counted {
  explicit Counted(size_t streams) : counts(streams) {
    for (std::atomic<int64_t>& count : counts) {
      runs.emplace_back([&count] {
        ++count;
        return OkStatus();
      });
    }
  }
  std::vector<std::atomic<int64_t>> counts;
  Runs runs;
};

void CheckCounts(const LoadResult& result, const Counted& counted) {
  int64_t sum = 0;
  REQUIRE(result.runs.size() == counted.counts.size());
  for (size_t i = 0; i < counted.counts.size(); ++i) {
    CHECK(result.runs[i] == counted.counts[i]);
    sum += result.runs[i];
  }
  CHECK(std::ssize(result.latencies_ms) == sum);
  CHECK(std::ranges::is_sorted(result.latencies_ms));
}

TEST_CASE("one stream makes the runs that are asked for", "[cli][bench]") {
  Counted counted(1);
  LoadResult result = RunLoad(counted.runs, {.warm_up_ms = 0, .iterations = 7}).value();
  CHECK(counted.counts[0] == 7);
  CheckCounts(result, counted);
  CHECK(result.seconds > 0);
  CHECK(result.Throughput() == Approx(7 / result.seconds));
}

TEST_CASE("streams share the runs, and every one of them measures", "[cli][bench]") {
  for (size_t streams : {2, 4, 9}) {
    Counted counted(streams);
    LoadResult result = RunLoad(counted.runs, {.warm_up_ms = 0, .iterations = 100}).value();
    CheckCounts(result, counted);
    CHECK(result.latencies_ms.size() >= 100);
    // At most one more a stream, which measures even if others have made all the runs.
    CHECK(result.latencies_ms.size() < 100 + streams);
    for (int64_t runs : result.runs) CHECK(runs >= 1);
  }
}

TEST_CASE("fewer runs than streams still measure each stream once", "[cli][bench]") {
  Counted counted(5);
  LoadResult result = RunLoad(counted.runs, {.warm_up_ms = 0, .iterations = 1}).value();
  for (int64_t runs : result.runs) CHECK(runs == 1);
}

TEST_CASE("warming up makes at least three runs, which are not measured", "[cli][bench]") {
  Counted counted(2);
  LoadResult result = RunLoad(counted.runs, {.warm_up_ms = 1e-9, .iterations = 10}).value();
  for (size_t i = 0; i < 2; ++i) CHECK(counted.counts[i] == result.runs[i] + 3);
}

TEST_CASE("a load lasts until both its runs and its time are reached", "[cli][bench]") {
  Counted counted(2);
  LoadResult result =
      RunLoad(counted.runs, {.warm_up_ms = 0, .iterations = 3, .duration_seconds = 0.02}).value();
  CHECK(result.seconds >= 0.02);
  CHECK(result.latencies_ms.size() >= 3);
  CheckCounts(result, counted);
}

TEST_CASE("no more requests are served than arrive", "[cli][bench]") {
  Counted counted(1);
  LoadResult result =
      RunLoad(counted.runs, {.warm_up_ms = 0, .iterations = 1, .rate = 0.01}).value();
  CHECK(counted.counts[0] == 1);
  CHECK(result.Throughput() == Approx(0.01));
  CHECK(RunLoad(counted.runs, {.warm_up_ms = 0, .iterations = 20, .rate = 1000})->Throughput() <=
        1000);
}

TEST_CASE("requests arrive at equal distances for as long as asked for", "[cli][bench]") {
  BenchLoad load{.iterations = 50, .duration_seconds = 2, .rate = 40};
  CHECK(CountArrivals(load) == 80);
  CHECK(CountArrivals({.iterations = 50, .duration_seconds = 1, .rate = 40}) == 50);
  CHECK(CountArrivals({.iterations = 1, .duration_seconds = 0.26, .rate = 10}) == 3);
  CHECK(ArrivalSeconds(load, 0) == 0);
  for (int64_t i = 0; i < 80; ++i) CHECK(ArrivalSeconds(load, i) == Approx(0.025 * i));
  CHECK(ArrivalSeconds(load, 79) < 2);
}

TEST_CASE("each request is served once", "[cli][bench]") {
  Counted counted(3);
  BenchLoad load{.warm_up_ms = 0, .iterations = 40, .duration_seconds = 0.01, .rate = 10000};
  LoadResult result = RunLoad(counted.runs, load).value();
  CHECK(result.latencies_ms.size() == 100);
  CheckCounts(result, counted);
  CHECK(result.seconds >= ArrivalSeconds(load, 99));
}

TEST_CASE("a request that waits for a busy stream counts the time from its arrival",
          "[cli][bench]") {
  constexpr int kRuns = 10;
  constexpr std::chrono::milliseconds kTaken(2);
  Runs runs = {[&] {
    std::this_thread::sleep_for(kTaken);
    return OkStatus();
  }};
  // All arrive at once, as far as a run of 2 ms sees it: number i waits for i others.
  LoadResult result = RunLoad(runs, {.warm_up_ms = 0, .iterations = kRuns, .rate = 1e6}).value();
  REQUIRE(result.latencies_ms.size() == kRuns);
  for (int i = 0; i < kRuns; ++i) {
    CHECK(result.latencies_ms[static_cast<size_t>(i)] >= 2.0 * (i + 1) - 0.01);
  }
}

TEST_CASE("the first run that fails ends every stream", "[cli][bench]") {
  std::atomic<int> made = 0;
  Runs runs(3, [&] { return ++made > 5 ? InvalidInput("run {} is bad", 6) : OkStatus(); });
  for (double rate : {0.0, 1e5}) {
    made = 0;
    StatusOr<LoadResult> result =
        RunLoad(runs, {.warm_up_ms = 0, .iterations = 1000, .rate = rate});
    REQUIRE_FALSE(result.ok());
    CHECK(Message(result.status()) == "run 6 is bad");
    CHECK(made < 1000);
  }
  // While warming up, too.
  made = 5;
  CHECK_FALSE(RunLoad(runs, {.warm_up_ms = 5}).ok());
}

TEST_CASE("numbers out of range are refused by their option", "[cli][bench]") {
  CHECK(CheckLoad({}).ok());
  CHECK(CheckLoad({.warm_up_ms = 0, .duration_seconds = 3600, .rate = 1e6}).ok());
  const std::pair<BenchLoad, const char*> bad[] = {
      {{.warm_up_ms = -1}, "--warm-up: expected 0 to 60000, got -1"},
      {{.duration_seconds = 3601}, "--duration: expected 0 to 3600, got 3601"},
      {{.rate = -0.5}, "--rate: expected 0 to 1000000, got -0.5"},
      {{.rate = std::nan("")}, "--rate: expected 0 to 1000000, got nan"},
      {{.duration_seconds = std::numeric_limits<double>::infinity()},
       "--duration: expected 0 to 3600, got inf"},
  };
  for (const auto& [load, message] : bad) CHECK(Message(CheckLoad(load)) == message);
}

}  // namespace
}  // namespace tcc
