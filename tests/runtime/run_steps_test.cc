#include <catch2/catch.hpp>

#include "runtime/executor/run_sizes.h"

using namespace tcc;

namespace {

PlanLoop LoopOf(SizeExpr extent, std::vector<Instruction> body) {
  return {.counter = 0,
          .extent = std::move(extent),
          .trip_count = {},
          .condition = {},
          .swaps = {},
          .body = std::move(body)};
}

// A plan of one shape variable, one let and one counter.
Plan PlanOf(std::vector<Instruction> body) {
  Plan plan;
  plan.shape_variables = 1;
  plan.lets = {0};
  plan.counters = 1;
  plan.body = std::move(body);
  return plan;
}

// How often each step runs where the variable is `n` and the let is 7; {-1} where values decide it.
std::vector<int64_t> TimesOf(const Plan& plan, int64_t n) {
  std::optional<std::vector<RepeatedStep>> steps = StepsOfRun(plan, std::array{n, int64_t{7}});
  if (!steps) return {-1};
  std::vector<int64_t> times;
  for (const RepeatedStep& step : *steps) times.push_back(step.times);
  return times;
}

using Times = std::vector<int64_t>;

const Instruction kCall{PlanCall{}}, kCopy{PlanCopy{}};
const SizeExpr kN = SizeExpr::Variable(0), kLet = SizeExpr::Variable(1),
               kCounter = SizeExpr::Variable(2);

}  // namespace

TEST_CASE("steps in loops run as often as shapes say", "[runtime][run_sizes]") {
  Plan nested = PlanOf({kCall, {LoopOf(kN, {kCopy, {LoopOf(kLet, {kCall})}})}, kCall});
  CHECK(TimesOf(nested, 3) == Times{1, 3, 21, 1});
  CHECK(TimesOf(nested, 0) == Times{1, 1});
  CHECK(TimesOf(nested, -5) == Times{1, 1});
  CHECK(TimesOf(nested, INT64_MAX) == Times{1, INT64_MAX, INT64_MAX, 1});
  Plan chosen = PlanOf({{PlanSwitch{kN, {{kCall, kCall}, {{PlanIf{}}}}}}});
  CHECK(TimesOf(chosen, 0) == Times{1, 1});
  CHECK(TimesOf(chosen, 1) == Times{-1});
  CHECK(TimesOf(chosen, 2) == Times{-1});
}

TEST_CASE("values decide the steps of branches and of loops with conditions or counted trips",
          "[runtime][run_sizes]") {
  PlanLoop counted = LoopOf(2, {kCall}), conditional = counted;
  counted.trip_count = BufferId{0};
  conditional.condition = BufferId{0};
  for (const Instruction& step :
       {Instruction{PlanIf{}}, Instruction{counted}, Instruction{conditional},
        Instruction{LoopOf(kCounter, {kCall})}, Instruction{LoopOf(2, {{PlanIf{}}})}}) {
    CHECK(TimesOf(PlanOf({kCall, step}), 3) == Times{-1});
  }
}

TEST_CASE("a run of at most 4096 steps may be recorded", "[runtime][run_sizes]") {
  Plan plan = PlanOf({kCall, {LoopOf(kN, {kCopy, kCall})}, kCall});
  CHECK(MayBeRecorded(plan, std::array<int64_t, 2>{2047, 0}));
  CHECK_FALSE(MayBeRecorded(plan, std::array<int64_t, 2>{2048, 0}));
  CHECK_FALSE(MayBeRecorded(plan, std::array<int64_t, 2>{INT64_MAX, 0}));
}
