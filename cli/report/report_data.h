#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "support/status.h"

namespace tcc {

// The inputs of tcc report, for messages.
inline constexpr char kReportInputs[] = "a compiled model, or a folder that tcc tune --run made";

// A candidate that a run measured or failed to measure.
struct RunTrial {
  size_t task = 0;  // the index in RunData::tasks
  double at = 0;    // seconds since the run began
  std::string searcher;
  std::string status;
  std::string message;
  // Figures that are 0 where they are not known.
  double measured_seconds = 0;
  double best_seconds = 0;
  double constructed_seconds = 0;
  double fma_gflops = 0;

  bool IsRight() const { return status == "ok" || status == "slow"; }
};

// A kernel of the network that was tuned. Zeros and empty texts mean not known.
struct RunTask {
  std::string name;
  double runs = 1;  // calls per run of the network
  double constructed_seconds = 0;
  double best_seconds = 0;
  std::string best_searcher;
  double in_place_ratio = 0;
  std::string winner;
  int64_t trials = 0;
  std::string problem;
  double flops = 0;
  double moved_bytes = 0;
  std::string constructed_schedule;
  std::string best_schedule;

  bool IsMeasured() const { return constructed_seconds > 0 && best_seconds > 0; }
  double Gain() const { return IsMeasured() ? constructed_seconds / best_seconds : 1; }
  // Returns the seconds saved per run of the network.
  double SavedSeconds() const {
    return IsMeasured() ? runs * (constructed_seconds - best_seconds) : 0;
  }
};

// A run of tuning, as its folder describes it.
struct RunData {
  std::string state;    // "running", "ended", "interrupted" or "failed"
  std::string message;  // of a run that failed
  std::vector<std::pair<std::string, std::string>> facts;  // label and text: environment, budget
  double elapsed_seconds = 0;                              // until the end or the last event
  double network_constructed_seconds = 0;                  // in place; 0: not compared
  double network_best_seconds = 0;
  double fma_gflops = 0;  // the largest of all trials; 0: not measured
  // Whether run.json has the tasks. Otherwise they are the tasks of the events, without calls per
  // run.
  bool has_result = false;
  std::vector<RunTask> tasks;
  std::vector<RunTrial> trials;  // in their order
  std::vector<std::string> warnings;
};

// Reads a folder that tune --run made. Skips an unfinished last line of events, as a killed run
// leaves it. InvalidArgument: there is no such folder or no run in it, a file is broken; the
// message names the file, the line and the field.
StatusOr<RunData> ReadRun(const std::string& folder);

// Return the paths of files in the folder of a run.
std::string RunSummaryPath(const std::string& folder);
std::string RunEventsPath(const std::string& folder);

}  // namespace tcc
