#pragma once

#include "compiler/compile_graph.h"
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

// The environment that kernels for the target are measured in on this machine.
Environment LocalEnvironment(const Target& target, int threads,
                             MeasurePolicy policy = MeasurePolicy::kRotate64M);

}  // namespace tcc
