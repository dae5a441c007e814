#include "search/tuning/tuner.h"

#include <catch2/catch.hpp>

#include <algorithm>
#include <set>

#include "search/searchers/searcher.h"
#include "search/space/task_space.h"
#include "search/tuning/task_tuner.h"
#include "tests/search/tune_records.h"

using namespace tcc;

namespace {

int64_t CountOf(std::span<const StoredTrial> trials, const std::string& searcher) {
  return std::ranges::count(trials, searcher, &StoredTrial::searcher);
}

}  // namespace

TEST_CASE("nothing is measured twice, and the reference not even once more", "[search][tuner]") {
  std::vector<Workload> workloads = Product();
  for (const SearcherRow& searcher : Searchers()) {
    INFO(searcher.name);
    Records store;
    FakeMeasurer measurer({.wrong = 0.1, .hang = 0.1});
    TuneOptions options = OptionsFor(80);
    options.searcher = std::string(searcher.name);
    CHECK(store.Run(workloads, options, measurer).trials == 80);
    CHECK(measurer.measured().size() == 79);
    for (const auto& [artefact, times] : measurer.measured()) CHECK(times == 1);
    CHECK(measurer.opened() == std::map<std::string, int>{{"product", 1}});
    std::vector<StoredTrial> trials = store.Trials(workloads[0]);
    CHECK(AsSet(TextsOf(trials)).size() == 80);
    CHECK(trials[0].searcher == "constructed");
    CHECK_FALSE(measurer.measured().contains(FakeArtefact(workloads[0], trials[0].schedule)));
  }
}

TEST_CASE("what fails is recorded as what it is, counted, and never the best", "[search][tuner]") {
  std::vector<Workload> workloads = Product();
  FakeOptions fake{.refused = 0.1, .build_failed = 0.1, .wrong = 0.15, .hang = 0.1, .fault = 0.1};
  Records store;
  FakeMeasurer measurer(fake);
  TuneResult result = store.Run(workloads, OptionsFor(150), measurer);
  CHECK(result.trials == 150);
  CHECK(result.tasks[0].trials == 150);

  std::map<MeasureStatus, int64_t> statuses;
  double best = 1e9;
  for (const StoredTrial& trial : store.Trials(workloads[0])) {
    const Measurement& measured = trial.measurement;
    ++statuses[measured.status];
    CHECK((measured.status == MeasureStatus::kOk) == measured.message.empty());
    if (measured.status == MeasureStatus::kOk) best = std::min(best, measured.seconds);
    if (trial.searcher == "constructed") continue;
    std::string artefact = FakeArtefact(workloads[0], trial.schedule);
    MeasureStatus planted = PlantedStatus(fake, artefact);
    if (planted != MeasureStatus::kOk) CHECK(measured.status == planted);
    if (planted == MeasureStatus::kOk) CHECK(measured.seconds == FakeSeconds(fake, artefact));
  }
  CHECK(result.statuses == statuses);
  CHECK(result.tasks[0].best_seconds == best);
  for (MeasureStatus status :
       {MeasureStatus::kOk, MeasureStatus::kRefused, MeasureStatus::kBuildFailed,
        MeasureStatus::kWrong, MeasureStatus::kHang, MeasureStatus::kFault}) {
    INFO(NameOf(status));
    CHECK(statuses[status] > 0);
  }
}

TEST_CASE("what takes more than twice the best so far is slow", "[search][tuner]") {
  std::vector<Workload> workloads = Product();
  Records store;
  FakeMeasurer measurer({.size_weight = 0.3});
  TuneResult result = store.Run(workloads, OptionsFor(60), measurer);
  double best = result.tasks[0].constructed_seconds;
  for (const StoredTrial& trial : store.Trials(workloads[0])) {
    const Measurement& measured = trial.measurement;
    CHECK((measured.status == MeasureStatus::kSlow) == (measured.seconds > 2 * best));
    if (measured.status == MeasureStatus::kOk) best = std::min(best, measured.seconds);
  }
  CHECK(result.statuses[MeasureStatus::kSlow] > 0);
  CHECK(result.statuses[MeasureStatus::kOk] > 1);
}

TEST_CASE("the budget of trials is kept to the last one", "[search][tuner]") {
  std::vector<Workload> workloads = {ProductWorkload("one"),
                                     ProductWorkload("two", {.rows = 48, .columns = 96})};
  for (size_t tasks : {1, 2}) {
    for (int64_t trials : {1, 2, 7, 45}) {
      INFO(tasks << " tasks, " << trials << " trials");
      Records store;
      FakeMeasurer measurer({.refused = 0.1, .wrong = 0.1});
      TuneOptions options = OptionsFor(trials);
      std::vector<TuneEvent> events;
      options.event = [&](const TuneEvent& event) { events.push_back(event); };
      TuneResult result = store.Run(std::span(workloads).first(tasks), options, measurer);
      CHECK(result.trials == trials);
      CHECK(result.copied == 0);
      REQUIRE(result.tasks.size() == tasks);
      int64_t recorded = 0, of_tasks = 0;
      for (size_t i = 0; i < tasks; ++i) {
        recorded += std::ssize(store.Trials(workloads[i]));
        of_tasks += result.tasks[i].trials;
        CHECK(result.tasks[i].problem.empty() == (result.tasks[i].trials > 0));
      }
      CHECK(recorded == trials);
      CHECK(of_tasks == trials);
      REQUIRE(std::ssize(events) == trials);
      for (int64_t i = 0; i < trials; ++i) CHECK(events[static_cast<size_t>(i)].trials == i + 1);
    }
  }
}

TEST_CASE("a second run goes on where the first ended", "[search][tuner]") {
  std::vector<Workload> workloads = Product();
  for (const SearcherRow& searcher : Searchers()) {
    INFO(searcher.name);
    Records store;
    TuneOptions options = OptionsFor(40);
    options.searcher = std::string(searcher.name);
    FakeMeasurer first({.wrong = 0.1}), second({.wrong = 0.1});
    TuneResult before = store.Run(workloads, options, first);
    options.trials = 30;
    TuneResult after = store.Run(workloads, options, second);
    CHECK(after.trials == 30);
    CHECK(second.measured().size() == 30);
    for (const auto& [artefact, times] : second.measured()) {
      CHECK(times == 1);
      CHECK_FALSE(first.measured().contains(artefact));
    }
    std::vector<StoredTrial> trials = store.Trials(workloads[0]);
    CHECK(trials.size() == 70);
    CHECK(CountOf(trials, "constructed") == 1);
    CHECK(after.tasks[0].constructed_seconds == before.tasks[0].constructed_seconds);
    CHECK(after.tasks[0].best_seconds <= before.tasks[0].best_seconds);
    CHECK_FALSE(second.measured().contains(FakeArtefact(workloads[0], trials[0].schedule)));
  }
}

// In batches of one every trial is a place where a run may end and another go on.
TEST_CASE("a run that was cut off goes on as if it had not been", "[search][tuner]") {
  std::vector<Workload> workloads = Product();
  for (const SearcherRow& searcher : Searchers()) {
    INFO(searcher.name);
    TuneOptions options = OptionsFor(40, 6);
    options.searcher = std::string(searcher.name);
    options.batch = 1;
    Records unbroken, broken;
    FakeMeasurer steady;
    unbroken.Run(workloads, options, steady);
    std::vector<std::string> expected = TextsOf(unbroken.Trials(workloads[0]));
    REQUIRE(expected.size() == 40);

    FakeMeasurer failing({.fail_after = 12}), stopping({.stop_after = 12}), last;
    CHECK(broken.Try(workloads, options, failing).status().message() == "measuring cannot go on");
    CHECK(broken.Trials(workloads[0]).size() == 13);
    TuneOptions with_stop = options;
    with_stop.stop = stopping.stop();
    CHECK(broken.Run(workloads, with_stop, stopping).trials == 12);
    broken.Run(workloads, options, last);
    std::vector<std::string> got = TextsOf(broken.Trials(workloads[0]));
    REQUIRE(got.size() == 65);
    got.resize(40);
    CHECK(got == expected);
  }
}

TEST_CASE("the same seed gives the same trials, another seed others", "[search][tuner]") {
  std::vector<Workload> workloads = Product();
  for (const SearcherRow& searcher : Searchers()) {
    INFO(searcher.name);
    auto trials = [&](uint64_t seed) {
      Records store;
      FakeMeasurer measurer;
      TuneOptions options = OptionsFor(50, seed);
      options.searcher = std::string(searcher.name);
      store.Run(workloads, options, measurer);
      return TextsOf(store.Trials(workloads[0]));
    };
    std::vector<std::string> one = trials(1);
    CHECK(one == trials(1));
    CHECK(AsSet(one) != AsSet(trials(2)));
  }
}

TEST_CASE("a stop ends the run, and what was measured before is kept", "[search][tuner]") {
  std::vector<Workload> workloads = {ProductWorkload("one"),
                                     ProductWorkload("two", {.rows = 48, .columns = 96})};
  Records store;
  FakeMeasurer measurer({.stop_after = 10});
  TuneOptions options = OptionsFor(500);
  options.stop = measurer.stop();
  TuneResult result = store.Run(workloads, options, measurer);
  CHECK(result.trials == 12);
  CHECK(measurer.measured().size() == 10);
  CHECK(store.Trials(workloads[0]).size() + store.Trials(workloads[1]).size() == 12);
}

TEST_CASE("a candidate that lowers like a measured one is copied and no trial", "[search][tuner]") {
  std::vector<Workload> workloads = Product();
  Records store;
  FakeMeasurer first({.lowered_keys = 12}), second({.lowered_keys = 12});
  TuneResult result = store.Run(workloads, OptionsFor(10), first);
  CHECK(result.trials == 10);
  CHECK(result.copied > 0);
  CHECK(first.measured().size() == 9);

  result = store.Run(workloads, OptionsFor(1), second);
  CHECK(result.trials == 1);
  CHECK(second.measured().size() == 1);
  std::map<std::string, double> seconds;
  std::vector<StoredTrial> trials = store.Trials(workloads[0]);
  for (const StoredTrial& trial : trials) {
    double own = trial.measurement.seconds;
    CHECK(seconds.emplace(trial.lowered_key, own).first->second == own);
  }
  CHECK(seconds.size() == 11);
  CHECK(first.known() + second.known() > 0);
  CHECK(trials.size() > 11);
}

TEST_CASE("a task whose reference cannot be run has a problem, and the others go on",
          "[search][tuner]") {
  for (size_t bad : {0, 1, 2}) {
    INFO("task " << bad);
    std::vector<Workload> workloads = {ProductWorkload("one"),
                                       ProductWorkload("two", {.rows = 48, .columns = 96}),
                                       ProductWorkload("three", {.depth = 80})};
    // The task that was opened right before the bad one has its round first.
    workloads[(bad + 2) % 3].runs = 10;
    Records store;
    FakeMeasurer measurer({.unopenable = {workloads[bad].name}});
    TuneResult result = store.Run(workloads, OptionsFor(40), measurer);
    CHECK(result.trials == 40);
    for (size_t i = 0; i < workloads.size(); ++i) {
      const TaskResult& task = result.tasks[i];
      INFO(task.name);
      CHECK((task.problem.find("is no reference") != std::string::npos) == (i == bad));
      CHECK((task.trials == 0) == (i == bad));
      CHECK((task.constructed_seconds == 0) == (i == bad));
    }
    CHECK(store.Trials(workloads[bad]).empty());
  }
}

TEST_CASE("the next start is the reference where the first cannot be built", "[search][tuner]") {
  std::vector<Workload> workloads = Product();
  TaskSpace space(workloads[0], SearchTarget());
  std::string first = Print(space.sketch(0).trace), second = Print(space.sketch(1).trace);
  FakeOptions fake;
  SECTION("one") {
    fake.refuses = [&](const Candidate& candidate) {
      return Print(candidate.schedule.trace) == first;
    };
    Records store;
    FakeMeasurer measurer(fake);
    TuneResult result = store.Run(workloads, OptionsFor(20), measurer);
    CHECK(result.tasks[0].problem.empty());
    std::vector<StoredTrial> trials = store.Trials(workloads[0]);
    CHECK(trials.size() == 20);
    CHECK(Print(trials[0].schedule.trace) == second);
    CHECK(trials[0].searcher == "constructed");
    for (const StoredTrial& trial : trials) {
      bool refused = trial.measurement.status == MeasureStatus::kRefused;
      CHECK(refused == (Print(trial.schedule.trace) == first));
    }
  }
  SECTION("all") {
    fake.refuses = [](const Candidate&) { return true; };
    Records store;
    FakeMeasurer measurer(fake);
    TuneResult result = store.Run(workloads, OptionsFor(20), measurer);
    CHECK(result.tasks[0].problem == "planted: refused");
    CHECK(result.trials == 0);
    CHECK(measurer.opened().empty());
  }
}

TEST_CASE("a run counts its gains from the start that is the default now", "[search][tuner]") {
  std::vector<Workload> workloads = Product();
  TaskSpace space(workloads[0], SearchTarget());
  const std::string first = Print(space.sketch(0).trace);
  FakeOptions fake;
  fake.refuses = [&](const Candidate& candidate) {
    return Print(candidate.schedule.trace) == first;
  };
  Records store, fresh;
  FakeMeasurer without_first(fake), with_first, alone;
  const double second_start =
      store.Run(workloads, OptionsFor(8), without_first).tasks[0].constructed_seconds;
  const double resumed =
      store.Run(workloads, OptionsFor(8), with_first).tasks[0].constructed_seconds;
  CHECK(resumed != second_start);
  CHECK(resumed == fresh.Run(workloads, OptionsFor(8), alone).tasks[0].constructed_seconds);
}

TEST_CASE("no device is an error, and so is a searcher that there is not", "[search][tuner]") {
  std::vector<Workload> workloads = Product();
  Records store;
  FakeMeasurer absent({.unavailable = true}), present;
  CHECK(absl::IsUnavailable(store.Try(workloads, OptionsFor(10), absent).status()));
  TuneOptions options = OptionsFor(10);
  options.searcher = "guess";
  Status status = store.Try(workloads, options, present).status();
  CHECK(absl::IsFailedPrecondition(status));
  CHECK(Message(status).find("'guess'") != std::string::npos);
  CHECK(store.Trials(workloads[0]).empty());
}

// A hundred thousand times the runs outweigh whatever the clock may say of the rounds.
TEST_CASE("most rounds go to the task with most to gain", "[search][tuner]") {
  for (size_t heavy : {0, 1}) {
    INFO("task " << heavy);
    std::vector<Workload> workloads = {ProductWorkload("one"),
                                       ProductWorkload("two", {.rows = 48, .columns = 96})};
    workloads[heavy].runs = 1e5;
    Records store;
    FakeMeasurer measurer({.base_seconds = 1e-4});
    TuneOptions options = OptionsFor(60);
    options.batch = 4;
    TuneResult result = store.Run(workloads, options, measurer);
    CHECK(result.tasks[heavy].trials >= 55);
    // What is compiled without a search, and one round.
    CHECK(result.tasks[1 - heavy].trials >= 2);
    CHECK(result.tasks[1 - heavy].trials <= 5);
  }
}

TEST_CASE("a space that is exhausted ends the run before the budget does", "[search][tuner]") {
  std::vector<Workload> workloads = {SmallWorkload()};
  TaskSpace space(workloads[0], SearchTarget());
  REQUIRE(space.size() == 1);
  const size_t points = LegalPoints(*space.Points(0)).size();
  REQUIRE(points > 2);
  REQUIRE(points < 20);
  for (const SearcherRow& searcher : Searchers()) {
    INFO(searcher.name);
    Records store;
    FakeMeasurer measurer;
    TuneOptions options = OptionsFor(1000);
    options.searcher = std::string(searcher.name);
    TuneResult result = store.Run(workloads, options, measurer);
    CHECK(result.trials == static_cast<int64_t>(points));
    CHECK(store.Trials(workloads[0]).size() == points);
    FakeMeasurer again;
    CHECK(store.Run(workloads, options, again).trials == 0);
    CHECK(again.measured().empty());
  }
}

TEST_CASE("a run ends before its budget does where its tasks gain nothing more",
          "[search][tuner]") {
  Records store;
  FakeMeasurer measurer({.size_weight = 0, .sketch_spread = 0});
  TuneResult result = store.Run(Product(), OptionsFor(1000), measurer);
  CHECK(result.tasks[0].settled);
  CHECK(result.tasks[0].problem.empty());
  CHECK(result.trials > kSettledTrials);
  CHECK(result.trials <= kSettledTrials + 1 + 16);  // to the end of the batch
  FakeMeasurer again({.size_weight = 0, .sketch_spread = 0});
  CHECK(store.Run(Product(), OptionsFor(40), again).trials == 40);
}
