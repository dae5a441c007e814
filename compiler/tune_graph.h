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
  // The target, the stop, the warnings and where candidates are timed are said beside.
  TuneOptions tune;
  MeasurePolicy policy = MeasurePolicy::kRotate64M;
  int threads = 1;         // that kernels run on
  std::string worker_log;  // file for what the worker says on standard error; "": nowhere
};

// Measures candidates for the kernels of an imported graph on this machine and records them.
// Unavailable: the target's kernels do not run here; there is no worker. Else as Tune.
StatusOr<TuneResult> TuneGraph(Graph graph, const TuneGraphOptions& options, Database& database);

// The same with the database at the path, made where there is none; its warnings are told with the
// options'. Cancelled or DeadlineExceeded where a stop or the budget ended it before any kernel
// ran. Else as Database::Open and TuneGraph.
StatusOr<TuneResult> TuneIntoDatabase(Graph graph, const TuneGraphOptions& options,
                                      const std::string& path);

// The best schedules of the database at the path for kernels of the target on this machine, those
// first that were measured on about as many threads. Errors as Database::Open and Database::Best.
StatusOr<TunedSchedules> ReadTunedSchedules(
    const std::string& path, const Target& target, int threads,
    const std::function<void(const std::string& message)>& warn);

// FailedPrecondition, with all names: it is neither kAutoSearcher nor one of Searchers().
Status ExpectSearcher(std::string_view name);

// The environment that kernels for the target are measured in on this machine.
Environment LocalEnvironment(const Target& target, int threads,
                             MeasurePolicy policy = MeasurePolicy::kRotate64M);

}  // namespace tcc
