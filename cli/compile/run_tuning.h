#pragma once

#include "cli/compile/tuning_options.h"
#include "cli/progress.h"
#include "compiler/tune_graph.h"

namespace tcc {

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
// DeadlineExceeded: no kernel could be measured.
StatusOr<TuneResult> RunTuning(const Graph& graph, TuneGraphOptions options,
                               const TuningOptions& tuning, Progress& progress, Database& database);

}  // namespace tcc
