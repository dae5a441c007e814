#include "cli/bench/cpu_activity.h"

#include <array>
#include <catch2/catch.hpp>
#include <vector>

namespace tcc {
namespace {

constexpr double kTicks = 100;  // a second

// user nice system idle iowait irq softirq steal guest guest_nice
constexpr char kStat[] = R"(cpu  9999 9999 9999 9999 9999 9999 9999 9999 9999 9999
cpu0 100 20 30 700 50 1 2 3 90 10
cpu1 10 0 0 990 0 0 0 0 0 0
cpu10 777 0 0 0 0 0 0 0 0 0
intr 1 2 3
)";

TEST_CASE("the activity is that of the CPUs that are asked for", "[cli][bench]") {
  const std::array<int, 1> first = {0};
  CpuActivity activity = ActivityOf(kStat, first, kTicks);
  CHECK(activity.busy == Approx(1.56));
  CHECK(activity.total == Approx(9.06));
  const std::array<int, 2> both = {0, 1};
  activity = ActivityOf(kStat, both, kTicks);
  CHECK(activity.busy == Approx(1.66));
  CHECK(activity.total == Approx(19.06));
  CHECK(ActivityOf("", both, kTicks).total == 0);
}

TEST_CASE("others took what was neither idle nor ours", "[cli][bench]") {
  CpuActivity before{.busy = 5, .total = 100, .own = 1};
  CHECK(PercentOfOthers(before, {.busy = 6.5, .total = 102, .own = 2}) == 25.0);
  // Ticks and our own clock differ by a little.
  CHECK(PercentOfOthers(before, {.busy = 6, .total = 102, .own = 2.01}) == 0.0);
}

TEST_CASE("nothing is said of a moment, or where the system counts nothing", "[cli][bench]") {
  CpuActivity before{.busy = 5, .total = 100, .own = 1};
  CHECK_FALSE(PercentOfOthers(before, {.busy = 5.05, .total = 100.05, .own = 1}).has_value());
  CHECK_FALSE(PercentOfOthers({}, {.busy = 0, .total = 0, .own = 3}).has_value());
}

TEST_CASE("more than 5 % of others is worth a warning", "[cli][bench]") {
  CHECK(BusyWarning(std::nullopt).empty());
  CHECK(BusyWarning(5).empty());
  CHECK_THAT(BusyWarning(34.4), Catch::StartsWith("other processes took 34 % of the CPUs"));
}

TEST_CASE("this machine's activity goes forward", "[cli][bench]") {
  CpuActivity first = ActivityNow();
  CpuActivity second = ActivityNow();
  CHECK(second.total >= first.total);
  CHECK(second.own >= first.own);
}

}  // namespace
}  // namespace tcc
