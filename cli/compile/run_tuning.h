#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "cli/command_line.h"
#include "cli/progress.h"
#include "compiler/tune_graph.h"

namespace tcc {

// Options of a command that measures candidates.
struct TuningOptions {
  std::string database;
  std::string time_budget;  // "5m"
  int trials = 0;
  std::string searcher = "auto";
  std::string cost_model;  // file; "": the estimator's prior alone
  std::string policy = "auto";
  std::string device;  // "cuda:0" to measure on; else a part of the text of a recorded device
  std::string worker;  // command that runs a worker elsewhere; "": TCC_WORKER_COMMAND, else here
  uint64_t seed = 0;
  std::string run;  // folder that tells of the run; "": none

  bool HasBudget() const { return trials > 0 || !time_budget.empty(); }
};

void AddTuningOptions(CommandLine& line, TuningOptions& options);

// Parses "cuda:0" as the number of a GPU. FailedPrecondition: anything else.
StatusOr<int> OrdinalOf(const std::string& device);

// Sets the budget, searcher, seed and policy. FailedPrecondition: a malformed time, an unknown
// searcher or policy, both budgets at once, a folder for a run without a budget or with another
// run. InvalidArgument: the folder for a run cannot be made.
Status SetTuning(const TuningOptions& options, TuneGraphOptions& graph);

// Returns the policy of the options; none: `auto`. FailedPrecondition: an unknown one.
StatusOr<std::optional<MeasurePolicy>> PolicyOf(const TuningOptions& options);

// A reporter of a database's warnings, once each: when this is made, and when asked.
class DatabaseWarnings {
 public:
  DatabaseWarnings(const Database& database, Progress& progress)
      : database_(database), progress_(progress) {
    Tell();
  }
  void Tell();

 private:
  const Database& database_;
  Progress& progress_;
  size_t told_ = 0;
};

// Tunes the graph's kernels and reports the progress, also in the folder for the run. SIGINT and
// SIGTERM end the budget: measurements so far are kept; a second signal ends the program.
// Cancelled, DeadlineExceeded: a signal or the budget's end came before any kernel was measured.
StatusOr<TuneResult> RunTuning(const Graph& graph, TuneGraphOptions options,
                               const TuningOptions& tuning, Progress& progress, Database& database);

}  // namespace tcc
