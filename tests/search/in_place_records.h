#pragma once

#include <catch2/catch.hpp>

#include <algorithm>
#include <span>
#include <string>
#include <vector>

#include "search/space/task_space.h"
#include "search/tuning/tuner.h"
#include "tests/search/fake_measurer.h"
#include "tests/search/fake_network.h"
#include "tests/search/sample_database.h"
#include "tests/search/sample_workloads.h"

// Runs of Tune that time candidates inside of a network of fakes.
namespace tcc {

// What all times are multiplied with, run by run of the network.
struct WanderingClock {
  const char* name;
  double (*factor)(size_t run);
};
inline constexpr WanderingClock kClocks[] = {
    {"steady", [](size_t) { return 1.0; }},
    {"slow in every other run", [](size_t run) { return run % 2 == 0 ? 1.0 : 2.5; }},
    {"fast in every other run", [](size_t run) { return run % 2 == 0 ? 2.5 : 1.0; }},
    {"slow in two runs of four", [](size_t run) { return run / 2 % 2 == 0 ? 1.0 : 2.5; }},
    {"fast in two runs of four", [](size_t run) { return run / 2 % 2 == 0 ? 2.5 : 1.0; }},
};

inline Environment InPlaceEnvironment() {
  Environment environment = LocalEnvironment();
  environment.policy = "in-place";
  return environment;
}

inline TuneOptions InPlaceOptions(int64_t trials, bool in_place = true) {
  TuneOptions options;
  options.target = SearchTarget();
  options.trials = trials;
  options.seed = 1;
  options.batch = 8;
  options.in_place = in_place;
  return options;
}

// A database of its own, and runs over it.
struct InPlaceRecords {
  StatusOr<TuneResult> Try(std::span<const Workload> workloads, const TuneOptions& options,
                           FakeMeasurer& measurer, FakeNetwork& network) {
    TuneTools tools{.measurer = measurer, .network = &network, .build = measurer.Builder()};
    return Tune(workloads, options, InPlaceEnvironment(), tools, database);
  }
  TuneResult Run(std::span<const Workload> workloads, const TuneOptions& options,
                 FakeMeasurer& measurer, FakeNetwork& network) {
    StatusOr<TuneResult> result = Try(workloads, options, measurer, network);
    INFO(result.status());
    REQUIRE(result.ok());
    return *std::move(result);
  }
  std::vector<StoredTrial> Trials(const Workload& workload) {
    return TrialsOf(database, workload, InPlaceEnvironment());
  }
  TunedSchedules Best() { return BestOf(database, InPlaceEnvironment()); }

  DatabaseFolder folder;
  Database database = OpenToWrite(folder / "tune.db");
};

inline std::vector<Workload> OneProduct() {
  return {ProductWorkload("one")};
}

inline std::vector<Workload> TwoProducts() {
  std::vector<Workload> workloads = {ProductWorkload("one"),
                                     ProductWorkload("two", {.rows = 48, .columns = 96})};
  workloads[1].runs = 3;
  return workloads;
}

inline std::string ArtefactOf(const Workload& workload, const StoredTrial& trial) {
  return FakeArtefact(workload, trial.schedule);
}

// Returns the artefact of the candidate that is compiled without a search.
inline std::string ConstructedArtefact(const Workload& workload) {
  TaskSpace space(workload, SearchTarget());
  std::optional<SearchPoint> start = space.Start(0);
  REQUIRE(start.has_value());
  return FakeArtefact(workload, space.ToCandidate(*start).schedule);
}

inline bool IsOk(const StoredTrial& trial) {
  return trial.measurement.status == MeasureStatus::kOk;
}

inline bool IsProposed(const StoredTrial& trial) {
  return trial.searcher != "constructed";
}

// The ok trial of least seconds, the first of equals.
inline const StoredTrial& FastestOf(std::span<const StoredTrial> trials) {
  const StoredTrial* best = nullptr;
  for (const StoredTrial& trial : trials) {
    if (!IsOk(trial)) continue;
    if (!best || trial.measurement.seconds < best->measurement.seconds) best = &trial;
  }
  REQUIRE(best);
  return *best;
}

inline const StoredTrial& ConstructedOf(std::span<const StoredTrial> trials) {
  auto found = std::ranges::find(trials, "constructed", &StoredTrial::searcher);
  REQUIRE(found != trials.end());
  return *found;
}

}  // namespace tcc
