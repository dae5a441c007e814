#include <catch2/catch.hpp>

#include <algorithm>
#include <set>
#include <stop_token>

#include "tests/search/in_place_records.h"

using namespace tcc;
using Catch::Contains;

TEST_CASE("in place the budget of trials is kept to the last one", "[search][in_place]") {
  std::vector<Workload> workloads = TwoProducts();
  for (size_t tasks : {1, 2}) {
    for (int64_t trials : {2, 3, 7, 12, 45}) {
      INFO(tasks << " tasks, " << trials << " trials");
      std::span<const Workload> some = std::span(workloads).first(tasks);
      InPlaceRecords store;
      FakeMeasurer measurer({.refused = 0.1, .wrong = 0.1});
      FakeNetwork network(some);
      TuneOptions options = InPlaceOptions(trials);
      std::vector<TuneEvent> events;
      options.event = [&](const TuneEvent& event) { events.push_back(event); };
      TuneResult result = store.Run(some, options, measurer, network);
      CHECK(result.trials == trials);
      CHECK(result.copied == 0);
      int64_t recorded = 0;
      for (size_t i = 0; i < tasks; ++i) {
        recorded += std::ssize(store.Trials(workloads[i]));
        CHECK(result.tasks[i].problem == "");
        CHECK(result.tasks[i].trials > 0);
      }
      CHECK(recorded == trials);
      REQUIRE(std::ssize(events) == trials);
      for (int64_t i = 0; i < trials; ++i) CHECK(events[static_cast<size_t>(i)].trials == i + 1);
    }
  }
}

TEST_CASE("in place nothing is checked or challenges twice", "[search][in_place]") {
  std::vector<Workload> workloads = TwoProducts();
  InPlaceRecords store;
  FakeMeasurer measurer({.wrong = 0.1, .hang = 0.1});
  FakeNetwork network(workloads);
  TuneOptions options = InPlaceOptions(80);
  // A stop leaves the comparison out, which binds the best once more.
  std::stop_source stop;
  options.stop = stop.get_token();
  options.event = [&](const TuneEvent& event) {
    if (event.trials == 80) stop.request_stop();
  };
  CHECK(store.Run(workloads, options, measurer, network).trials == 80);
  for (const auto& [artefact, times] : measurer.measured()) CHECK(times == 1);
  for (const auto& [artefact, times] : network.BindCounts()) CHECK(times == 1);
  std::set<std::string> recorded;
  for (const Workload& workload : workloads) {
    for (const StoredTrial& trial : store.Trials(workload)) {
      CHECK(recorded.insert(ArtefactOf(workload, trial)).second);
    }
    CHECK_FALSE(measurer.measured().contains(ConstructedArtefact(workload)));
  }
  CHECK(recorded.size() == 80);
  CHECK(measurer.measured().size() == 78);
}

TEST_CASE("in place candidates that lower alike share one measurement", "[search][in_place]") {
  std::vector<Workload> workloads = OneProduct();
  InPlaceRecords store;
  FakeMeasurer measurer({.lowered_keys = 12});
  FakeNetwork network(workloads);
  size_t proposed = 0;
  TuneTools tools{.measurer = measurer,
                  .network = &network,
                  .build = [&, build = measurer.Builder()](const auto& workload, auto candidates,
                                                           const auto& filter) {
                    if (filter.known) proposed += candidates.size();
                    return build(workload, candidates, filter);
                  }};
  StatusOr<TuneResult> tuned =
      Tune(workloads, InPlaceOptions(10), InPlaceEnvironment(), tools, store.database);
  REQUIRE(tuned.ok());
  const TuneResult& result = *tuned;
  CHECK(result.trials == 10);
  CHECK(result.copied > 0);
  CHECK(measurer.measured().size() == 9);
  std::map<std::string, double> seconds;
  std::vector<StoredTrial> trials = store.Trials(workloads[0]);
  for (const StoredTrial& trial : trials) {
    double own = trial.measurement.seconds;
    CHECK(seconds.emplace(trial.lowered_key, own).first->second == own);
  }
  CHECK(seconds.size() == 10);
  CHECK(std::ssize(trials) == 10 + result.copied);
  // No proposal is lost.
  CHECK(trials.size() == 1 + proposed);
}

TEST_CASE("candidates that are wrong or slow by themselves never join the network",
          "[search][in_place]") {
  std::vector<Workload> workloads = TwoProducts();
  FakeOptions fake{.size_weight = 0.3, .wrong = 0.15, .hang = 0.1, .fault = 0.1};
  InPlaceRecords store;
  FakeMeasurer measurer(fake);
  FakeNetwork network(workloads, {.fake = fake});
  TuneResult result = store.Run(workloads, InPlaceOptions(120), measurer, network);
  std::map<std::string, int> bound = network.BindCounts();
  std::map<MeasureStatus, int64_t> statuses;
  for (const Workload& workload : workloads) {
    for (const StoredTrial& trial : store.Trials(workload)) {
      std::string artefact = ArtefactOf(workload, trial);
      INFO(artefact << NameOf(trial.measurement.status));
      ++statuses[trial.measurement.status];
      CHECK(bound.contains(artefact) == IsOk(trial));
      bound.erase(artefact);
      if (!IsProposed(trial)) continue;
      MeasureStatus planted = PlantedStatus(fake, artefact);
      if (planted != MeasureStatus::kOk) CHECK(trial.measurement.status == planted);
      if (planted == MeasureStatus::kOk) {
        CHECK((IsOk(trial) || trial.measurement.status == MeasureStatus::kSlow));
      }
    }
  }
  CHECK(bound.empty());
  CHECK(result.statuses == statuses);
  for (MeasureStatus status :
       {MeasureStatus::kOk, MeasureStatus::kSlow, MeasureStatus::kWrong, MeasureStatus::kHang}) {
    INFO(NameOf(status));
    CHECK(statuses[status] > 0);
  }
}

TEST_CASE("records have a call's seconds in the network, comparable whatever the clock",
          "[search][in_place]") {
  std::vector<Workload> workloads = TwoProducts();
  for (const WanderingClock& clock : kClocks) {
    INFO(clock.name);
    InPlaceRecords store;
    FakeMeasurer measurer;
    // The second task is slower in the network than by itself.
    FakeNetwork network(
        workloads,
        {.factor = [](size_t task, std::span<const std::string>) { return task == 1 ? 2.0 : 1.0; },
         .clock = clock.factor});
    TuneResult result = store.Run(workloads, InPlaceOptions(40), measurer, network);
    const double begun = clock.factor(1);  // its speed when the incumbents were timed
    for (size_t i : {0, 1}) {
      std::vector<StoredTrial> trials = store.Trials(workloads[i]);
      CHECK(result.tasks[i].constructed_seconds == ConstructedOf(trials).measurement.seconds);
      CHECK(result.tasks[i].best_seconds == FastestOf(trials).measurement.seconds);
      CHECK(trials[0].searcher == "constructed");
      for (const StoredTrial& trial : trials) {
        if (!IsOk(trial)) continue;
        double alone = FakeSeconds({}, ArtefactOf(workloads[i], trial));
        CHECK(trial.measurement.seconds == Approx(alone * begun * (i == 1 ? 2 : 1)));
        CHECK(trial.measurement.calls > 0);
      }
    }
  }
}

TEST_CASE("in place a second run goes on from the best of the first", "[search][in_place]") {
  std::vector<Workload> workloads = TwoProducts();
  InPlaceRecords store;
  FakeMeasurer first({.wrong = 0.1}), second({.wrong = 0.1});
  FakeNetwork network(workloads), again(workloads);
  TuneResult before = store.Run(workloads, InPlaceOptions(40), first, network);
  std::vector<std::string> best;
  size_t recorded = 0;
  for (const Workload& workload : workloads) {
    std::vector<StoredTrial> trials = store.Trials(workload);
    recorded += trials.size();
    best.push_back(ArtefactOf(workload, FastestOf(trials)));
    CHECK(best.back() != ConstructedArtefact(workload));
  }
  CHECK(recorded == 40);
  TuneResult after = store.Run(workloads, InPlaceOptions(30), second, again);
  CHECK(after.trials == 30);
  for (size_t i : {0, 1}) {
    CHECK(again.binds()[i].task == i);
    CHECK(again.binds()[i].artefact == best[i]);
    CHECK(after.tasks[i].constructed_seconds == before.tasks[i].constructed_seconds);
    CHECK(after.tasks[i].best_seconds <= before.tasks[i].best_seconds);
    std::vector<StoredTrial> trials = store.Trials(workloads[i]);
    CHECK(std::ranges::count(trials, "constructed", &StoredTrial::searcher) == 1);
    for (const StoredTrial& trial : trials) {
      if (!IsOk(trial)) continue;
      double alone = FakeSeconds({}, ArtefactOf(workloads[i], trial));
      CHECK(trial.measurement.seconds == Approx(alone));
    }
  }
  CHECK(second.measured().size() == 30);
  for (const auto& [artefact, times] : second.measured()) {
    CHECK(times == 1);
    CHECK_FALSE(first.measured().contains(artefact));
  }
}

TEST_CASE("a candidate that ends the worker in the network is found and blamed alone",
          "[search][in_place]") {
  std::vector<Workload> workloads = TwoProducts();
  InPlaceRecords calm;
  FakeMeasurer steady;
  FakeNetwork peaceful(workloads);
  calm.Run(workloads, InPlaceOptions(60), steady, peaceful);
  std::vector<StoredTrial> proposed = calm.Trials(workloads[0]);
  std::erase_if(proposed,
                [](const StoredTrial& trial) { return !IsProposed(trial) || !IsOk(trial); });
  REQUIRE(proposed.size() > 3);
  const std::string bad = ArtefactOf(workloads[0], proposed[2]);

  for (size_t endings : {1, 1000}) {
    INFO(endings << " endings");
    InPlaceRecords store;
    FakeMeasurer measurer;
    FakeNetwork network(
        workloads,
        {.ends = [&](const std::string& artefact) { return artefact == bad; }, .endings = endings});
    TuneResult result = store.Run(workloads, InPlaceOptions(60), measurer, network);
    CHECK(result.trials == 60);
    size_t blamed = 0;
    for (const Workload& workload : workloads) {
      for (const StoredTrial& trial : store.Trials(workload)) {
        const bool is_blamed = trial.measurement.status == MeasureStatus::kFault;
        blamed += is_blamed;
        CHECK(is_blamed == (endings > 1 && ArtefactOf(workload, trial) == bad));
        if (is_blamed) {
          CHECK_THAT(trial.measurement.message, Contains("ended the worker"));
          CHECK(trial.measurement.seconds == 0);
        }
      }
    }
    CHECK(blamed == (endings > 1));
    // Together, then alone, each time once more.
    CHECK(network.aborted() == (endings > 1 ? 4 : 1));
  }
}

TEST_CASE("in place a stop keeps what was recorded and compares nothing", "[search][in_place]") {
  std::vector<Workload> workloads = TwoProducts();
  SECTION("while candidates are checked") {
    InPlaceRecords store;
    FakeMeasurer measurer({.stop_after = 30});
    FakeNetwork network(workloads);
    TuneOptions options = InPlaceOptions(500);
    options.stop = measurer.stop();
    TuneResult result = store.Run(workloads, options, measurer, network);
    CHECK(measurer.measured().size() == 30);
    CHECK(result.trials > 2);
    CHECK(result.trials < 32);
    CHECK(std::ssize(store.Trials(workloads[0])) + std::ssize(store.Trials(workloads[1])) ==
          result.trials);
    CHECK(result.network_best_seconds == 0);
  }
  SECTION("while they are timed") {
    InPlaceRecords store;
    FakeMeasurer measurer, resumed;
    std::stop_source stop;
    FakeNetwork network(workloads, {.clock = [&](size_t run) {
                          if (run == 60) stop.request_stop();
                          return 1.0;
                        }});
    TuneOptions options = InPlaceOptions(500);
    options.stop = stop.get_token();
    TuneResult result = store.Run(workloads, options, measurer, network);
    // The round under way ends, and its generation is dropped.
    CHECK(network.runs() > 60);
    CHECK(network.runs() < 64);
    CHECK(result.trials > 2);
    CHECK(std::ssize(store.Trials(workloads[0])) + std::ssize(store.Trials(workloads[1])) ==
          result.trials);
    CHECK(result.tasks[0].winner == "");
    // Another run goes on.
    FakeNetwork next(workloads);
    CHECK(store.Run(workloads, InPlaceOptions(20), resumed, next).trials == 20);
    CHECK(std::ssize(store.Trials(workloads[0])) + std::ssize(store.Trials(workloads[1])) ==
          result.trials + 20);
  }
}

TEST_CASE("in place a kernel without a reference is an error that names it", "[search][in_place]") {
  std::vector<Workload> workloads = TwoProducts();
  InPlaceRecords store;
  FakeMeasurer measurer({.unopenable = {"two"}});
  FakeNetwork network(workloads);
  Status status = store.Try(workloads, InPlaceOptions(40), measurer, network).status();
  CHECK(absl::IsFailedPrecondition(status));
  CHECK_THAT(Message(status), Contains("kernel 'two' cannot be run: "));
  CHECK_THAT(Message(status), Contains("is no reference"));
  CHECK(network.binds().empty());
  CHECK(measurer.measured().empty());
}

TEST_CASE("a kernel that the network has and nothing runs leaves others to be tuned by turns",
          "[search][in_place]") {
  std::vector<Workload> workloads = TwoProducts();
  InPlaceRecords store;
  FakeMeasurer measurer({.unopenable = {"two"}});
  FakeNetwork network(workloads);
  TuneResult result = store.Run(workloads, InPlaceOptions(40, false), measurer, network);
  CHECK(result.trials == 40);
  CHECK(network.binds().empty());
  CHECK(result.tasks[0].winner == "");
  CHECK(store.Best().size() == 1);
}

TEST_CASE("a budget that ends before all kernels began returns their problem",
          "[search][in_place]") {
  std::vector<Workload> workloads = TwoProducts();
  InPlaceRecords store;
  FakeMeasurer measurer;
  FakeNetwork network(workloads);
  size_t begun = 0;
  std::stop_source stop;
  TuneOptions options = InPlaceOptions(40);
  SECTION("of time") {
    options.trials = 0;
    options.seconds = 1e-9;
  }
  SECTION("by a stop at the first kernel") {
    begun = 1;
    options.stop = stop.get_token();
  }
  bool cancelled = false;
  SECTION("by a stop while the first kernel is built") {
    cancelled = true;
    options.stop = stop.get_token();
  }
  TuneTools tools{.measurer = measurer,
                  .network = &network,
                  .build = [&, build = measurer.Builder()](const auto& workload, auto candidates,
                                                           const auto& filter) {
                    stop.request_stop();
                    std::vector<BuiltCandidate> built = build(workload, candidates, filter);
                    if (cancelled) built[0].status = absl::CancelledError("cancelled");
                    return built;
                  }};
  StatusOr<TuneResult> result =
      Tune(workloads, options, InPlaceEnvironment(), tools, store.database);
  INFO(result.status());
  REQUIRE(result.ok());
  REQUIRE(result->tasks.size() == 2);
  CHECK(result->trials == 0);
  for (size_t i : {0, 1}) {
    CHECK(result->tasks[i].name == workloads[i].name);
    CHECK(result->tasks[i].key == workloads[i].key);
    CHECK_FALSE(result->tasks[i].recorded);
    CHECK(result->tasks[i].constructed_schedule.empty() == (i >= begun));
    CHECK_THAT(result->tasks[i].problem,
               Contains(i < begun ? "the budget ended before it was timed in the network"
                                  : "the budget ended before it was looked at"));
  }
  CHECK(network.binds().empty());
}

TEST_CASE("a budget smaller than the kernels are many compares only what has seconds",
          "[search][in_place]") {
  std::vector<Workload> workloads = TwoProducts();
  workloads.push_back(ProductWorkload("three", {.rows = 24, .columns = 32}));
  InPlaceRecords store;
  FakeMeasurer first, second;
  FakeNetwork one(std::span(workloads).first(1));
  store.Run(std::span(workloads).first(1), InPlaceOptions(40), first, one);
  // The only trial is the first new kernel's; the second has none, the known one has finalists.
  std::vector<Workload> mixed = {workloads[1], workloads[2], workloads[0]};
  FakeNetwork network(mixed);
  TuneResult result = store.Run(mixed, InPlaceOptions(1), second, network);
  CHECK(result.trials == 1);
  CHECK(store.Trials(workloads[2]).empty());
  CHECK(result.network_best_seconds > 0);
  for (const TaskResult& task : result.tasks) CHECK(task.best_seconds > 0);
  CHECK(result.tasks[0].recorded);
  CHECK_FALSE(result.tasks[1].recorded);
  CHECK(result.tasks[2].recorded);
}

TEST_CASE("an error of the measurer or of the network ends the run", "[search][in_place]") {
  std::vector<Workload> workloads = TwoProducts();
  InPlaceRecords store;
  FakeMeasurer failing({.fail_after = 20}), measurer;
  FakeNetwork network(workloads);
  CHECK(store.Try(workloads, InPlaceOptions(60), failing, network).status().message() ==
        "measuring cannot go on");
  // Earlier records stay.
  CHECK(store.Trials(workloads[0]).size() + store.Trials(workloads[1]).size() > 2);

  FakeNetwork ending(workloads, {.ends = [](const std::string&) { return true; }});
  Status status = store.Try(workloads, InPlaceOptions(60), measurer, ending).status();
  CHECK(absl::IsFailedPrecondition(status));
  CHECK_THAT(Message(status), Contains("the network cannot be run"));
}
