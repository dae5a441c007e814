#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "cli/command_line.h"
#include "cli/progress.h"
#include "compiler/sized_model.h"
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
  // "cuda:0" or "opencl:0" to measure on; else a part of the text of a recorded device
  std::string device;
  std::string worker;  // command that runs a worker elsewhere; "": TCC_WORKER_COMMAND, else here
  uint64_t seed = 0;
  std::string run;  // folder that tells of the run; "": none

  bool HasBudget() const { return trials > 0 || !time_budget.empty(); }
};

void AddTuningOptions(CommandLine& line, TuningOptions& options);

// A GPU of this machine, by the device that runs artefacts on it.
struct GpuNumber {
  std::string device;  // Artefact::device
  int ordinal = -1;
};
// Returns "cuda:0 or opencl:0".
std::string GpuNumberExamples();
// Parses one of these. FailedPrecondition: anything else.
StatusOr<GpuNumber> GpuNumberOf(const std::string& device);

// Sets the budget, searcher, seed and policy. FailedPrecondition: a malformed time, an unknown
// searcher or policy, both budgets at once, a folder for a run without a budget or with another
// run, a GPU that does not run the target's kernels. InvalidArgument: the folder for a run cannot
// be made.
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

// The result of tuning a model at one of its sizes.
struct TunedSize {
  std::string size;  // B=1,S=16; "other sizes" for those that are not listed; "": none are
  TuneResult result;
};

// Tunes the kernels of the model at each of its sizes, which share the budget equally: a size that
// ends early leaves its rest to those after it. Reports the progress, also in the folder for the
// run, where each of several sizes has a folder. SIGINT and SIGTERM end the budget: measurements so
// far are kept, later sizes are left out; a second signal ends the program. Cancelled,
// DeadlineExceeded: a signal or the budget's end came before any kernel of a size was measured.
StatusOr<std::vector<TunedSize>> RunTuning(const SizedModel& model, TuneGraphOptions options,
                                           const TuningOptions& tuning, Progress& progress,
                                           Database& database);

}  // namespace tcc
