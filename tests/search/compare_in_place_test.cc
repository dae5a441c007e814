#include <catch2/catch.hpp>

#include <algorithm>
#include <set>
#include <stop_token>

#include "tests/search/in_place_records.h"

using namespace tcc;
using Catch::Contains;

TEST_CASE("a winner that is slower in the network leaves its task the constructed one",
          "[search][in_place]") {
  std::vector<Workload> workloads = TwoProducts();
  const std::string constructed = ConstructedArtefact(workloads[0]);
  InPlaceRecords store;
  FakeMeasurer measurer;
  FakeNetwork network(workloads,
                      {.factor = [&](size_t task, std::span<const std::string> artefacts) {
                        return task == 0 && artefacts[0] != constructed ? 3.0 : 1.0;
                      }});
  TuneResult result = store.Run(workloads, InPlaceOptions(60, false), measurer, network);
  for (size_t i : {0, 1}) {
    CHECK(result.tasks[i].best_seconds < 0.9 * result.tasks[i].constructed_seconds);
  }
  CHECK(result.tasks[0].winner == "constructed");
  CHECK(result.tasks[0].in_place_ratio == 1);
  CHECK(result.tasks[1].winner != "constructed");
  CHECK(result.tasks[1].winner != "");
  CHECK(result.tasks[1].in_place_ratio ==
        Approx(result.tasks[1].best_seconds / result.tasks[1].constructed_seconds));
  CHECK(result.network_best_seconds < result.network_constructed_seconds);
  CHECK(result.network_constructed_seconds ==
        Approx(result.tasks[0].constructed_seconds + 3 * result.tasks[1].constructed_seconds));
  CHECK(result.network_best_seconds ==
        Approx(result.tasks[0].constructed_seconds + 3 * result.tasks[1].best_seconds));
  TunedSchedules best = store.Best();
  CHECK_FALSE(best.contains(workloads[0].key));
  CHECK(best.contains(workloads[1].key));
}

TEST_CASE("a mix that is slower as a whole leaves all tasks the constructed ones",
          "[search][in_place]") {
  std::vector<Workload> workloads = TwoProducts();
  const std::string constructed = ConstructedArtefact(workloads[0]);
  InPlaceRecords store;
  FakeMeasurer measurer;
  // All candidates of the first task but the constructed one slow the second task.
  FakeNetwork network(workloads,
                      {.factor = [&](size_t task, std::span<const std::string> artefacts) {
                        return task == 1 && artefacts[0] != constructed ? 3.0 : 1.0;
                      }});
  TuneResult result = store.Run(workloads, InPlaceOptions(60, false), measurer, network);
  CHECK(result.network_best_seconds == result.network_constructed_seconds);
  CHECK(result.network_constructed_seconds ==
        Approx(result.tasks[0].constructed_seconds + 3 * result.tasks[1].constructed_seconds));
  for (const TaskResult& task : result.tasks) {
    CHECK(task.best_seconds < 0.9 * task.constructed_seconds);
    CHECK(task.winner == "constructed");
    CHECK(task.in_place_ratio == 1);
  }
  CHECK(store.Best().empty());
}

TEST_CASE("the winner in the network is used, not the one by itself", "[search][in_place]") {
  std::vector<Workload> workloads = OneProduct();
  InPlaceRecords alone, store;
  FakeMeasurer first, second;
  TuneTools tools{.measurer = first, .network = nullptr, .build = first.Builder()};
  REQUIRE(
      Tune(workloads, InPlaceOptions(60, false), InPlaceEnvironment(), tools, alone.database).ok());
  const StoredTrial fastest = FastestOf(alone.Trials(workloads[0]));
  TunedSchedules best = alone.Best();
  REQUIRE(best.contains(workloads[0].key));
  CHECK(Print(best.at(workloads[0].key).schedule) == Print(fastest.schedule));

  const std::string spoiled = ArtefactOf(workloads[0], fastest);
  FakeNetwork network(workloads, {.factor = [&](size_t, std::span<const std::string> artefacts) {
                        return artefacts[0] == spoiled ? 3.0 : 1.0;
                      }});
  TuneResult result = store.Run(workloads, InPlaceOptions(60, false), second, network);
  CHECK(result.tasks[0].best_seconds == fastest.measurement.seconds);
  best = store.Best();
  REQUIRE(best.contains(workloads[0].key));
  const TunedSchedule& used = best.at(workloads[0].key);
  CHECK(Print(used.schedule) != Print(fastest.schedule));
  // The second best by itself.
  std::vector<StoredTrial> others = store.Trials(workloads[0]);
  std::erase_if(
      others, [&](const StoredTrial& trial) { return ArtefactOf(workloads[0], trial) == spoiled; });
  CHECK(FakeSeconds({}, FakeArtefact(workloads[0], used.schedule)) ==
        Approx(FastestOf(others).measurement.seconds).epsilon(0.011));
  CHECK(result.tasks[0].in_place_ratio < 0.99);
  CHECK(used.seconds ==
        Approx(result.tasks[0].constructed_seconds * result.tasks[0].in_place_ratio));
}

TEST_CASE("finalists that end the worker leave the constructed ones", "[search][in_place]") {
  std::vector<Workload> workloads = OneProduct();
  const std::string constructed = ConstructedArtefact(workloads[0]);
  InPlaceRecords store;
  FakeMeasurer measurer;
  FakeNetwork network(
      workloads, {.ends = [&](const std::string& artefact) { return artefact != constructed; }});
  TuneResult result = store.Run(workloads, InPlaceOptions(60, false), measurer, network);
  CHECK(result.tasks[0].winner == "constructed");
  CHECK(store.Best().empty());
}

TEST_CASE("a comparison whose worker ends leaves a warning and the records", "[search][in_place]") {
  std::vector<Workload> workloads = OneProduct();
  InPlaceRecords store;
  FakeMeasurer measurer;
  FakeNetwork network(workloads, {.ends = [](const std::string&) { return true; }});
  TuneOptions options = InPlaceOptions(60, false);
  std::vector<std::string> warnings;
  options.warn = [&](const std::string& message) { warnings.push_back(message); };
  TuneResult result = store.Run(workloads, options, measurer, network);
  CHECK(result.trials == 60);
  REQUIRE(warnings.size() == 1);
  CHECK_THAT(warnings[0], Contains("the winners were not compared in the network"));
  CHECK_THAT(warnings[0], Contains("SIGFAKE"));
  CHECK(result.tasks[0].winner == "");
  CHECK(result.network_best_seconds == 0);
  std::vector<StoredTrial> trials = store.Trials(workloads[0]);
  CHECK(trials.size() == 60);
  TunedSchedules best = store.Best();
  REQUIRE(best.contains(workloads[0].key));
  CHECK(Print(best.at(workloads[0].key).schedule) == Print(FastestOf(trials).schedule));
}

TEST_CASE("a comparison whose budget of time is spent ends with the best candidate of each task",
          "[search][in_place]") {
  for (bool is_spent : {false, true}) {
    std::vector<Workload> workloads = OneProduct();
    InPlaceRecords store;
    FakeMeasurer measurer;
    FakeNetwork network(workloads);
    TuneOptions options = InPlaceOptions(is_spent ? 0 : 60, false);
    options.seconds = 1e9;
    // The clock would make the test depend on the machine, so that the budget shrinks instead.
    options.event = [&](const TuneEvent& event) {
      if (is_spent && event.trials >= 60) options.seconds = 1e-9;
    };
    TuneResult result = store.Run(workloads, options, measurer, network);
    INFO(is_spent);
    // The constructed candidate is one of the artefacts.
    CHECK((network.BindCounts().size() == 2) == is_spent);
    CHECK(result.tasks[0].winner != "");
    CHECK(result.tasks[0].winner != "constructed");
    CHECK(result.tasks[0].in_place_ratio ==
          Approx(result.tasks[0].best_seconds / result.tasks[0].constructed_seconds));
    CHECK(result.network_best_seconds < result.network_constructed_seconds);
    CHECK(store.Best().contains(workloads[0].key));
  }
}

TEST_CASE("a search by turns that is stopped compares nothing", "[search][in_place]") {
  std::vector<Workload> workloads = TwoProducts();
  InPlaceRecords store;
  FakeMeasurer measurer({.stop_after = 30});
  FakeNetwork network(workloads);
  TuneOptions options = InPlaceOptions(500, false);
  options.stop = measurer.stop();
  TuneResult result = store.Run(workloads, options, measurer, network);
  CHECK(result.trials == 32);
  CHECK(network.binds().empty());
}
