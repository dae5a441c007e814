#pragma once

#include <functional>
#include <string>
#include <string_view>

#include "compiler/compile_options.h"
#include "ir/graph/graph.h"
#include "runtime/measure/measure_protocol.h"
#include "search/tuning/tuner.h"

namespace tcc {

struct TuneGraphOptions {
  CompileOptions compile;  // target, numeric mode, threads that build, warnings
  // The tuner's options, except target, stop, warnings and measuring, which the other fields set.
  TuneOptions tune;
  MeasurePolicy policy = MeasurePolicy::kRotate64M;
  int threads = 1;         // that kernels run on
  std::string worker_log;  // file for the worker's standard error; "": none
};

// Measures candidates for the kernels of an imported graph on this machine and records them. Error:
// Unavailable if the target's kernels do not run here or there is no worker; Tune's.
StatusOr<TuneResult> TuneGraph(Graph graph, const TuneGraphOptions& options, Database& database);

// Fails with DeadlineExceeded where no kernel of the result has run; the message names one and says
// why.
Status ExpectSomeKernel(const TuneResult& result);

// Does the same as TuneGraph with the database at the path, which is created if missing; its
// warnings go to the options' hook. Error: Cancelled or DeadlineExceeded where a stop or the budget
// came before any kernel ran; Database::Open's and TuneGraph's.
StatusOr<TuneResult> TuneIntoDatabase(Graph graph, const TuneGraphOptions& options,
                                      const std::string& path);

// Reads the best schedules of the database at the path for kernels of the target on this machine;
// schedules measured on about as many threads come first. Errors: Database::Open's and
// Database::Best's.
StatusOr<TunedSchedules> ReadTunedSchedules(
    const std::string& path, const Target& target, int threads,
    const std::function<void(const std::string& message)>& warn);

// Fails with FailedPrecondition and all names if `name` is neither kAutoSearcher nor one of
// Searchers().
Status ExpectSearcher(std::string_view name);

// Returns the environment that kernels for the target are measured in on this machine.
Environment LocalEnvironment(const Target& target, int threads,
                             MeasurePolicy policy = MeasurePolicy::kRotate64M);

}  // namespace tcc
