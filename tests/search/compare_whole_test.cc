#include <catch2/catch.hpp>

#include <algorithm>

#include "tests/search/in_place_records.h"

// The end of a search whose network is timed as a whole.
namespace tcc {
namespace {

using Catch::Contains;

constexpr size_t kTasks = 5;      // of FiveProducts
constexpr int64_t kTrials = 150;  // enough to find a winner for each task

std::vector<Workload> FiveProducts() {
  std::vector<Workload> workloads;
  for (size_t i = 0; i < kTasks; ++i) {
    workloads.push_back(
        ProductWorkload(fmt::format("product{}", i), {.rows = 32 + 16 * static_cast<int64_t>(i)}));
    workloads.back().runs = static_cast<double>(1 + i % 2);
  }
  return workloads;
}

// Returns whether the artefact is a candidate of that task of FiveProducts that a search found.
class IsFound {
 public:
  IsFound(std::span<const Workload> workloads, size_t task)
      : begin_(workloads[task].name + "\n"), constructed_(ConstructedArtefact(workloads[task])) {}
  bool operator()(const std::string& artefact) const {
    return artefact.starts_with(begin_) && artefact != constructed_;
  }

 private:
  std::string begin_, constructed_;
};

// A network in which the search's candidates of one task take `factor` times their seconds.
FakeNetworkOptions SlowTask(std::span<const Workload> workloads, size_t slow, double factor) {
  return {.factor =
              [is_found = IsFound(workloads, slow), slow, factor](
                  size_t task, std::span<const std::string> artefacts) {
                return task == slow && is_found(artefacts[task]) ? factor : 1.0;
              },
          .whole = true};
}

// Returns the seconds of the network with the best candidates, but for the constructed ones of
// `fallen`.
double SecondsWithout(const TuneResult& result, std::vector<size_t> fallen) {
  double seconds = 0;
  for (size_t i = 0; i < result.tasks.size(); ++i) {
    const TaskResult& task = result.tasks[i];
    const bool falls = std::ranges::find(fallen, i) != fallen.end();
    seconds += task.runs * (falls ? task.constructed_seconds : task.best_seconds);
  }
  return seconds;
}

const std::vector<size_t> kAll = {0, 1, 2, 3, 4};

// Checks which tasks fell back to their constructed candidates.
void CheckFallen(const TuneResult& result, InPlaceRecords& store,
                 std::span<const Workload> workloads, const std::vector<size_t>& fallen) {
  TunedSchedules best = store.Best();
  for (size_t i = 0; i < kTasks; ++i) {
    INFO("task " << i);
    const TaskResult& task = result.tasks[i];
    REQUIRE(task.best_seconds < 0.98 * task.constructed_seconds);
    const bool fell = std::ranges::find(fallen, i) != fallen.end();
    CHECK(task.winner == (fell ? "constructed" : ""));
    CHECK(task.in_place_ratio == (fell ? 1 : 0));
    CHECK(best.contains(workloads[i].key) == !fell);
    if (fell) continue;
    // The fastest record, not a comparison's.
    CHECK(best.at(workloads[i].key).seconds == task.best_seconds);
  }
  CHECK(result.network_constructed_seconds == Approx(SecondsWithout(result, kAll)));
  CHECK(result.network_best_seconds == Approx(SecondsWithout(result, fallen)));
}

}  // namespace

TEST_CASE("winners that make the whole network faster all stay", "[search][compare_whole]") {
  std::vector<Workload> workloads = FiveProducts();
  InPlaceRecords store;
  FakeMeasurer measurer;
  FakeNetwork network(workloads, {.whole = true});
  TuneResult result = store.Run(workloads, InPlaceOptions(kTrials, false), measurer, network);
  CheckFallen(result, store, workloads, {});
}

TEST_CASE("a winner that slows the whole network is thrown out alone, whatever the clock",
          "[search][compare_whole]") {
  std::vector<Workload> workloads = FiveProducts();
  for (size_t slow = 0; slow < kTasks; ++slow) {
    const WanderingClock& clock = kClocks[slow];
    INFO("task " << slow << ", " << clock.name);
    InPlaceRecords store;
    FakeMeasurer measurer;
    FakeNetworkOptions options = SlowTask(workloads, slow, 30);
    FakeNetwork network(workloads, options);
    TuneResult result = store.Run(workloads, InPlaceOptions(kTrials, false), measurer, network);
    CheckFallen(result, store, workloads, {slow});

    InPlaceRecords wandering;
    FakeMeasurer other;
    options.clock = clock.factor;
    FakeNetwork drifting(workloads, options);
    result = wandering.Run(workloads, InPlaceOptions(kTrials, false), other, drifting);
    CHECK(result.tasks[slow].winner == "constructed");
    CHECK(wandering.Best().size() == kTasks - 1);
  }
}

TEST_CASE("a winner that ends the network's worker is thrown out alone",
          "[search][compare_whole]") {
  std::vector<Workload> workloads = FiveProducts();
  InPlaceRecords store;
  FakeMeasurer measurer;
  FakeNetwork network(workloads, {.ends = IsFound(workloads, 3), .whole = true});
  TuneResult result = store.Run(workloads, InPlaceOptions(kTrials, false), measurer, network);
  CheckFallen(result, store, workloads, {3});
}

TEST_CASE("two winners that slow the whole network both fall back", "[search][compare_whole]") {
  std::vector<Workload> workloads = FiveProducts();
  InPlaceRecords store;
  FakeMeasurer measurer;
  const IsFound first(workloads, 0), last(workloads, 4);
  FakeNetwork network(workloads, {.factor =
                                      [&](size_t task, std::span<const std::string> artefacts) {
                                        const bool is_slow =
                                            first(artefacts[task]) || last(artefacts[task]);
                                        return is_slow ? 30.0 : 1.0;
                                      },
                                  .whole = true});
  TuneResult result = store.Run(workloads, InPlaceOptions(kTrials, false), measurer, network);
  CHECK(result.tasks[0].winner == "constructed");
  CHECK(result.tasks[4].winner == "constructed");
  CHECK_FALSE(store.Best().contains(workloads[0].key));
  CHECK_FALSE(store.Best().contains(workloads[4].key));
  CHECK(result.network_best_seconds <= result.network_constructed_seconds);
}

TEST_CASE("a later comparison of the whole network takes a former one's outcome back",
          "[search][compare_whole]") {
  std::vector<Workload> workloads = FiveProducts();
  InPlaceRecords store;
  FakeMeasurer measurer;
  FakeNetwork slow(workloads, SlowTask(workloads, 1, 30));
  CheckFallen(store.Run(workloads, InPlaceOptions(kTrials, false), measurer, slow), store,
              workloads, {1});
  FakeNetwork fast(workloads, {.whole = true});
  FakeMeasurer second;
  CheckFallen(store.Run(workloads, InPlaceOptions(kTasks, false), second, fast), store, workloads,
              {});
}

TEST_CASE("without a winner the whole network is not run", "[search][compare_whole]") {
  std::vector<Workload> workloads = FiveProducts();
  InPlaceRecords store;
  FakeMeasurer measurer;
  FakeNetwork network(workloads, {.whole = true});
  // Only the constructed candidates are measured.
  TuneResult result = store.Run(workloads, InPlaceOptions(kTasks, false), measurer, network);
  CHECK(network.binds().empty());
  CHECK(result.network_best_seconds == 0);
  for (const TaskResult& task : result.tasks) CHECK(task.winner == "");
  CHECK(store.Best().empty());
}

TEST_CASE("once the budget of time is spent no halves of the winners are tried",
          "[search][compare_whole]") {
  size_t runs[2] = {};
  for (bool is_spent : {false, true}) {
    std::vector<Workload> workloads = FiveProducts();
    InPlaceRecords store;
    FakeMeasurer measurer;
    FakeNetwork network(workloads, SlowTask(workloads, 2, 30));
    TuneOptions options = InPlaceOptions(is_spent ? 0 : kTrials, false);
    options.seconds = 1e9;
    // The clock would make the test depend on the machine, so that the budget shrinks instead.
    options.event = [&](const TuneEvent& event) {
      if (is_spent && event.trials >= kTrials) options.seconds = 1e-9;
    };
    TuneResult result = store.Run(workloads, options, measurer, network);
    INFO(is_spent);
    CheckFallen(result, store, workloads, is_spent ? kAll : std::vector<size_t>{2});
    runs[is_spent ? 1 : 0] = network.runs();
  }
  CHECK(runs[1] > 0);
  CHECK(runs[1] < runs[0]);
}

TEST_CASE("a whole network that fails leaves a warning and the search's records",
          "[search][compare_whole]") {
  std::vector<Workload> workloads = FiveProducts();
  InPlaceRecords store;
  FakeMeasurer measurer;
  FakeNetwork network(workloads, {.ends = [](const std::string&) { return true; }, .whole = true});
  TuneOptions options = InPlaceOptions(kTrials, false);
  std::vector<std::string> warnings;
  options.warn = [&](const std::string& message) { warnings.push_back(message); };
  TuneResult result = store.Run(workloads, options, measurer, network);
  REQUIRE(warnings.size() == 1);
  CHECK_THAT(warnings[0], Contains("the winners were not compared in the network"));
  CHECK_THAT(warnings[0], Contains("SIGFAKE"));
  CHECK(result.network_best_seconds == 0);
  TunedSchedules best = store.Best();
  for (size_t i = 0; i < kTasks; ++i) {
    CHECK(result.tasks[i].winner == "");
    REQUIRE(best.contains(workloads[i].key));
    CHECK(best.at(workloads[i].key).seconds == result.tasks[i].best_seconds);
  }
}

}  // namespace tcc
