#include <catch2/catch.hpp>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cmath>
#include <condition_variable>
#include <memory>
#include <mutex>
#include <set>

#include "search/searchers/searcher.h"
#include "search/space/task_space.h"
#include "tests/search/tune_records.h"

using namespace tcc;

namespace {

std::vector<Workload> ThreeProducts() {
  return {ProductWorkload("one"), ProductWorkload("two", {.rows = 48, .columns = 96}),
          ProductWorkload("three", {.rows = 40, .columns = 56})};
}

// Names that some threads tell, and others wait for.
class Told {
 public:
  void Tell(const std::string& name) {
    std::lock_guard lock(mutex_);
    names_.insert(name);
    changed_.notify_all();
  }
  // Returns whether that many different names were told; one that takes a minute is told never.
  bool Wait(size_t names) {
    std::unique_lock lock(mutex_);
    return changed_.wait_for(lock, std::chrono::minutes(1), [&] { return names_.size() >= names; });
  }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  std::set<std::string> names_;
};

std::string FirstTraceOf(const TaskSpace& space) {
  return Print(space.sketch(0).trace);
}

// The trials that were told, which a searcher of one task waits for, and whether they came.
Told* g_measured = nullptr;
std::string g_waiting;  // the task's FirstTraceOf: no thread but the test's may use Catch's macros
std::atomic<bool> g_came = true;

// Draws points; in the first round of the task "two" only once a candidate was measured.
class WaitingSearcher final : public Searcher {
 public:
  explicit WaitingSearcher(const SearchContext& context)
      : context_(context), inner_(MakeRandomSearcher(context)) {}

  std::vector<SearchPoint> Propose(size_t count, Random& random) override {
    const bool waits = FirstTraceOf(context_.space) == g_waiting;
    if (waits && context_.history.trials().size() == 1 && !g_measured->Wait(1)) g_came = false;
    return inner_->Propose(count, random);
  }

 private:
  SearchContext context_;
  std::unique_ptr<Searcher> inner_;
};

// Trials agree in the constructed candidate and whole batches: the last one may be cut by the
// budget.
void CheckSameOrder(std::span<const StoredTrial> some, std::span<const StoredTrial> others,
                    size_t batch) {
  std::vector<std::string> a = TextsOf(some), b = TextsOf(others);
  size_t common = 1 + (std::min(a.size(), b.size()) - 1) / batch * batch;
  CHECK(common > batch);
  a.resize(common);
  b.resize(common);
  CHECK(a == b);
}

}  // namespace

TEST_CASE("building beside measuring keeps the budget and every task's order of proposals",
          "[search][tuner][overlap]") {
  std::vector<Workload> workloads = ThreeProducts();
  for (const char* searcher : {"random", "auto"}) {
    INFO(searcher);
    Records turns, beside;
    FakeMeasurer one({.wrong = 0.1}), other({.wrong = 0.1});
    TuneOptions options = OptionsFor(120);
    options.searcher = searcher;
    CHECK(turns.Run(workloads, options, one).trials == 120);
    options.overlap = true;
    options.threads = 2;
    CHECK(beside.Run(workloads, options, other).trials == 120);
    for (const auto& [artefact, times] : other.measured()) CHECK(times == 1);
    for (const Workload& workload : workloads) {
      CheckSameOrder(turns.Trials(workload), beside.Trials(workload), options.batch);
    }
  }
}

TEST_CASE("a parallel measurer has batches of several tasks at once, and records keep their order",
          "[search][tuner][overlap]") {
  std::vector<Workload> workloads = ThreeProducts();
  Records turns, beside;
  FakeMeasurer one({.wrong = 0.1}), other({.wrong = 0.1, .parallel = true});
  TuneOptions options = OptionsFor(120);
  options.searcher = "random";
  CHECK(turns.Run(workloads, options, one).trials == 120);
  options.overlap = true;
  options.threads = 2;
  CHECK(beside.Run(workloads, options, other).trials == 120);
  CHECK(other.most_waiting() > options.batch);
  for (const auto& [artefact, times] : other.measured()) CHECK(times == 1);
  for (const Workload& workload : workloads) {
    CheckSameOrder(turns.Trials(workload), beside.Trials(workload), options.batch);
    for (const StoredTrial& trial : beside.Trials(workload)) {
      if (trial.measurement.status != MeasureStatus::kOk) continue;
      CHECK(trial.measurement.seconds == FakeSeconds({}, FakeArtefact(workload, trial.schedule)));
    }
  }
}

TEST_CASE("a parallel measurer gets no candidate twice, and may stop or be lost in the middle",
          "[search][tuner][overlap]") {
  std::vector<Workload> workloads = ThreeProducts();
  FakeOptions fake{.refused = 0.1, .lowered_keys = 60, .parallel = true};
  TuneOptions options = OptionsFor(90);
  options.overlap = true;
  Records whole, stopped, lost;
  FakeMeasurer measurer(fake);
  TuneResult result = whole.Run(workloads, options, measurer);
  CHECK(result.trials == 90);
  CHECK(result.copied > 0);
  for (const auto& [artefact, times] : measurer.measured()) CHECK(times == 1);

  fake.stop_after = 20;
  FakeMeasurer stops(fake);
  options.stop = stops.stop();
  CHECK(stopped.Run(workloads, options, stops).trials < 90);
  fake.fail_after = 20;
  FakeMeasurer fails(fake);
  options.stop = {};
  CHECK(absl::IsUnavailable(lost.Try(workloads, options, fails).status()));
}

TEST_CASE("one task's batches take turns though building may go on beside measuring",
          "[search][tuner][overlap]") {
  std::vector<Workload> workloads = Product();
  Records store;
  FakeMeasurer measurer;
  TuneOptions options = OptionsFor(40);
  options.overlap = true;
  CHECK(store.Run(workloads, options, measurer).trials == 40);
  CHECK(AsSet(TextsOf(store.Trials(workloads[0]))).size() == 40);
}

TEST_CASE("a stop or a lost measurer in the middle of building beside measuring ends a search",
          "[search][tuner][overlap]") {
  std::vector<Workload> workloads = {ProductWorkload("one"),
                                     ProductWorkload("two", {.rows = 48, .columns = 96})};
  TuneOptions options = OptionsFor(100);
  options.overlap = true;
  {
    Records store;
    FakeMeasurer measurer({.stop_after = 20});
    options.stop = measurer.stop();
    TuneResult result = store.Run(workloads, options, measurer);
    CHECK(result.trials < 40);
    int64_t stored = 0;
    for (const Workload& workload : workloads) stored += std::ssize(store.Trials(workload));
    CHECK(stored == result.trials);
  }
  Records store;
  FakeMeasurer measurer({.fail_after = 20});
  options.stop = {};
  StatusOr<TuneResult> result = store.Try(workloads, options, measurer);
  CHECK((!result.ok() || result->trials < 100));
}

// The runs outweigh whatever the clock may say of the rounds.
TEST_CASE("trials and their order do not depend on the number of build threads",
          "[search][tuner][overlap]") {
  std::vector<Workload> workloads = ThreeProducts();
  for (size_t i = 0; i < workloads.size(); ++i) workloads[i].runs = std::pow(1e6, 2 - i);
  std::vector<std::string> of_threads[2];
  for (int more : {0, 1}) {
    Records store;
    FakeMeasurer measurer({.refused = 0.1, .wrong = 0.1, .lowered_keys = 60});
    TuneOptions options = OptionsFor(90);
    options.overlap = true;
    options.threads = 1 + 3 * more;
    options.event = [&](const TuneEvent& event) {
      of_threads[more].push_back(fmt::format("{} {} {} {}", event.task, event.searcher,
                                             NameOf(event.measurement.status),
                                             event.measurement.seconds));
    };
    CHECK(store.Run(workloads, options, measurer).trials == 90);
  }
  CHECK(of_threads[0] == of_threads[1]);
}

TEST_CASE("batches of several tasks are built at the same time", "[search][tuner][overlap]") {
  std::vector<Workload> workloads = ThreeProducts();
  Records store;
  FakeMeasurer measurer;
  BuildFunction inner = measurer.Builder();
  Told begun;
  std::atomic<bool> together = true;
  BuildFunction build = [&](const Workload& workload, std::span<const Candidate> candidates,
                            const BuildFilter& filter) {
    if (filter.known) {  // no reference
      begun.Tell(workload.name);
      if (!begun.Wait(workloads.size())) together = false;
    }
    return inner(workload, candidates, filter);
  };
  TuneOptions options = OptionsFor(9);
  options.batch = 1;
  options.overlap = true;
  options.threads = 3;
  StatusOr<TuneResult> result = store.Try(workloads, options, measurer, build);
  REQUIRE(result.ok());
  CHECK(result->trials == 9);
  CHECK(together);
}

TEST_CASE("a candidate is measured though others of its batch are still built",
          "[search][tuner][overlap]") {
  Records store;
  FakeMeasurer measurer;
  BuildFunction inner = measurer.Builder();
  Told measured;
  std::atomic<size_t> asked = 0;
  std::atomic<bool> early = true;
  TuneOptions options = OptionsFor(9);
  options.overlap = true;
  options.event = [&](const TuneEvent& event) { measured.Tell(std::to_string(event.trials)); };
  BuildFunction build = [&](const Workload& workload, std::span<const Candidate> candidates,
                            const BuildFilter& filter) {
    // The last one of the batch waits for the constructed candidate and the first of the batch.
    if (filter.known && ++asked == options.batch && !measured.Wait(2)) early = false;
    return inner(workload, candidates, filter);
  };
  StatusOr<TuneResult> result = store.Try(Product(), options, measurer, build);
  REQUIRE(result.ok());
  CHECK(asked == options.batch);
  CHECK(early);
}

TEST_CASE("starts after a faulty one are built at the same time, and give the same references",
          "[search][tuner][overlap]") {
  std::vector<Workload> workloads = ThreeProducts();
  std::set<std::string> faulty;
  for (const Workload& workload : workloads) {
    faulty.insert(Print(TaskSpace(workload, SearchTarget()).sketch(0).trace));
  }
  std::vector<std::vector<std::string>> references;
  for (bool overlap : {false, true}) {
    Records store;
    FakeMeasurer measurer;
    BuildFunction inner = measurer.Builder();
    Told begun;
    std::atomic<bool> together = true;
    BuildFunction build = [&](const Workload& workload, std::span<const Candidate> candidates,
                              const BuildFilter& filter) {
      std::vector<BuiltCandidate> built = inner(workload, candidates, filter);
      if (faulty.contains(Print(candidates[0].schedule.trace))) {
        built[0].fault = "planted";
      } else if (overlap && !filter.known) {
        begun.Tell(workload.name);
        if (!begun.Wait(workloads.size())) together = false;
      }
      return built;
    };
    TuneOptions options = OptionsFor(3);
    options.overlap = overlap;
    options.threads = 3;
    StatusOr<TuneResult> result = store.Try(workloads, options, measurer, build);
    REQUIRE(result.ok());
    CHECK(together);
    std::vector<std::string>& schedules = references.emplace_back();
    for (const TaskResult& task : result->tasks) schedules.push_back(task.constructed_schedule);
    for (const Workload& workload : workloads) {
      CHECK_FALSE(faulty.contains(Print(store.Trials(workload)[0].schedule.trace)));
    }
  }
  CHECK(references[0] == references[1]);
}

TEST_CASE("a task is proposed for while candidates of another are measured",
          "[search][tuner][overlap]") {
  std::vector<Workload> workloads = ThreeProducts();
  workloads[0].runs = 1e6;  // the first one to be measured
  Records store;
  FakeMeasurer measurer;
  Told measured;
  g_waiting = FirstTraceOf(TaskSpace(ThreeProducts()[1], SearchTarget()));
  g_measured = &measured;
  g_came = true;
  TuneOptions options = OptionsFor(60);
  options.batch = 20;  // more than there are starts
  options.overlap = true;
  options.threads = 3;
  options.more_searchers = {{"waiting",
                             [](const SearchContext& context) -> std::unique_ptr<Searcher> {
                               return std::make_unique<WaitingSearcher>(context);
                             },
                             false, ""}};
  options.searcher = "waiting";
  options.event = [&](const TuneEvent& event) {
    if (event.searcher == "waiting") measured.Tell(event.task);
  };
  CHECK(store.Run(workloads, options, measurer).trials == 60);
  CHECK(g_came);
}
