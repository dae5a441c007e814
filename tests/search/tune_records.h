#pragma once

#include <catch2/catch.hpp>

#include <set>
#include <span>
#include <string>
#include <vector>

#include "search/tuning/tuner.h"
#include "tests/search/fake_measurer.h"
#include "tests/search/sample_database.h"
#include "tests/search/sample_workloads.h"

// Runs of Tune that time candidates by themselves, which are fakes.
namespace tcc {

inline TuneOptions OptionsFor(int64_t trials, uint64_t seed = 1) {
  TuneOptions options;
  options.target = SearchTarget();
  options.trials = trials;
  options.seed = seed;
  options.batch = 8;
  return options;
}

// A database of its own, and runs over it.
struct Records {
  StatusOr<TuneResult> Try(std::span<const Workload> workloads, const TuneOptions& options,
                           FakeMeasurer& measurer, BuildFunction build = nullptr) {
    if (!build) build = measurer.Builder();
    TuneTools tools{.measurer = measurer, .network = nullptr, .build = build};
    return Tune(workloads, options, LocalEnvironment(), tools, database);
  }
  TuneResult Run(std::span<const Workload> workloads, const TuneOptions& options,
                 FakeMeasurer& measurer) {
    StatusOr<TuneResult> result = Try(workloads, options, measurer);
    INFO(result.status());
    REQUIRE(result.ok());
    return *std::move(result);
  }
  std::vector<StoredTrial> Trials(const Workload& workload) { return TrialsOf(database, workload); }

  DatabaseFolder folder;
  Database database = OpenToWrite(folder / "tune.db");
};

inline std::vector<Workload> Product() {
  return {ProductWorkload("product")};
}

// Candidates as text, in the order in which they were recorded.
inline std::vector<std::string> TextsOf(std::span<const StoredTrial> trials) {
  std::vector<std::string> texts;
  for (const StoredTrial& trial : trials) {
    texts.push_back(trial.variant_key + "\n" + Print(trial.schedule));
  }
  return texts;
}

inline std::set<std::string> AsSet(const std::vector<std::string>& texts) {
  return {texts.begin(), texts.end()};
}

}  // namespace tcc
