#pragma once

#include <cstdint>
#include <string>

#include "cli/command_line.h"
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
  uint64_t seed = 0;
  std::string run;  // folder that tells of the run; "": none

  bool HasBudget() const { return trials > 0 || !time_budget.empty(); }
};

void AddTuningOptions(CommandLine& line, TuningOptions& options);

// Sets the budget, searcher, seed and policy. FailedPrecondition: a malformed time, an unknown
// searcher or policy, both budgets at once, a folder for a run without a budget or with another
// run. InvalidArgument: the folder for a run cannot be made.
Status SetTuning(const TuningOptions& options, TuneGraphOptions& graph);

// Parses "90s", "5m", "1.5h", or "30" in seconds, above 0 and at most a year. FailedPrecondition:
// anything else.
StatusOr<double> ParseTimeBudget(const std::string& text);

}  // namespace tcc
