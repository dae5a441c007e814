#include "cli/diff/compare_times.h"

#include <catch2/catch.hpp>

#include "compiler/compile_graph.h"
#include "models/zoo/zoo.h"

namespace tcc {
namespace {

TEST_CASE("the spread is the middle half of the ratios", "[cli][diff]") {
  RatioSpread spread = SpreadOf({1.3, 1.0, 1.2, 1.1});
  CHECK(spread.median == 1.1);
  CHECK(spread.low == 1.0);
  CHECK(spread.high == 1.2);
  spread = SpreadOf({2});
  CHECK(spread.low == 2);
  CHECK(spread.high == 2);
}

TEST_CASE("few kernels that lose most explain a difference", "[cli][diff]") {
  Explanation explanation = Explain({1, 40, 0.5, 55, 3.5}, true);
  CHECK(explanation.matches == 2);
  CHECK(explanation.percent == Approx(95));
  // Others may win some of it back.
  explanation = Explain({-10, 20, 0}, true);
  CHECK(explanation.matches == 1);
  CHECK(explanation.percent == Approx(200));
  // Where B is faster, those that gain.
  explanation = Explain({-30, 5, -15}, false);
  CHECK(explanation.matches == 2);
  CHECK(explanation.percent == Approx(112.5));
  // Kernels that say the opposite of whole runs explain nothing.
  CHECK(Explain({-3, 1}, true).matches == 0);
  CHECK(Explain({}, true).matches == 0);
}

TEST_CASE("a share of more than the whole is told as what others make up for", "[cli][diff]") {
  CHECK(ExplanationText({.matches = 3, .percent = 91.2}, true) == "3 kernels explain 91 % of it");
  CHECK(ExplanationText({.matches = 1, .percent = 100}, false) == "1 kernel explains 100 % of it");
  CHECK(ExplanationText({.matches = 1, .percent = 184}, true) ==
        "1 kernel loses 1.84 times as much, others win the rest back");
  CHECK(ExplanationText({.matches = 2, .percent = 112.5}, false) ==
        "2 kernels win 1.12 times as much, others lose the rest back");
}

TEST_CASE("a match has the least time of each kernel and the ratio of each round", "[cli][diff]") {
  TimeComparison comparison;
  // Runs 0 and 1 are round 0, runs 2 and 3 round 1.
  comparison.a_runs = {{1, 9}, {3, 9}, {2, 9}, {2, 8}};
  comparison.b_runs = {{4, 2, 0}, {4, 2, 0}, {5, 1, 0}, {3, 1, 0}};
  MatchTimes times = TimesOf({.a = {0}, .b = {0, 1}}, comparison);
  CHECK(times.a_seconds == 1);
  CHECK(times.b_seconds == 4);  // 3 and 1, of different runs
  CHECK(times.LostSeconds() == 3);
  // The faster of two runs: 6 to 1 and 4 to 2.
  CHECK(times.ratio.low == 2);
  CHECK(times.ratio.high == 6);
  // Without a kernel, or with one that took no time, there is no ratio.
  CHECK(TimesOf({.a = {1}, .b = {}}, comparison).ratio.median == 0);
  CHECK(TimesOf({.a = {1}, .b = {}}, comparison).LostSeconds() == -8);
  CHECK(TimesOf({.a = {0}, .b = {2}}, comparison).ratio.median == 0);
}

TEST_CASE("two models take turns, and each run is timed", "[cli][diff]") {
  auto pool = std::make_shared<ThreadPool>(ThreadPoolOptions{.threads = 2});
  std::vector<Module> modules;
  for (NumericMode numeric : {NumericMode::kStrict, NumericMode::kBf16}) {
    CompileOptions options{.target = FindTarget("native").value()};
    options.numeric = numeric;
    Graph graph = BuildZoo("dqn", {.small = true}).value();
    Artefact artefact = CompileGraph(std::move(graph), options).value();
    modules.push_back(Module::FromArtefact(std::move(artefact), {.pool = pool}).value());
  }
  for (int rounds : {1, 3, 12}) {
    TimeComparison comparison = CompareTimes(modules[0], modules[1], rounds).value();
    CHECK(std::ssize(comparison.ratios) == rounds);
    CHECK(std::ssize(comparison.a_runs) == 2 * std::min(rounds, 10));
    CHECK(comparison.a_runs.size() == comparison.b_runs.size());
    CHECK(comparison.a_runs[0].size() == modules[0].metadata().kernels.size());
    CHECK(comparison.b_runs[0].size() == modules[1].metadata().kernels.size());
    CHECK(comparison.a_ms > 0);
    CHECK(comparison.b_ms > 0);
    CHECK(comparison.timer == "the CPU's clock");
    for (double ratio : comparison.ratios) CHECK(ratio > 0);
  }
}

}  // namespace
}  // namespace tcc
