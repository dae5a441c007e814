#pragma once

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "bench/search/lattice.h"
#include "search/tuning/task_tuner.h"

namespace tcc {

// A lattice with the times of its points.
struct MeasuredLattice {
  Workload workload;
  std::vector<Sketch> sketches = {};
  std::map<SearchPoint, Measurement> points = {};
  double best_seconds = 0;

  TaskSpace Space(const Target& target) const { return TaskSpace(workload, target, sketches); }
};

// Looks up what a database knows of a kernel's lattice in an environment. Error: a point that was
// not measured; no point that was right.
StatusOr<MeasuredLattice> ReadLattice(const BenchKernel& kernel, size_t most, const Target& target,
                                      const Environment& environment, Database& database);

// How a search went on a lattice.
struct SearchCurve {
  std::vector<double> best;  // least seconds after each trial; infinite before the first right one
  int64_t predictions = 0;
  double cpu_seconds = 0;  // of the search alone
};

// A search of the lattice through the tuner that users run, with looked up times.
SearchCurve ReplaySearch(const MeasuredLattice& lattice, const Target& target,
                         const TaskTunerOptions& options, size_t trials, size_t batch);

}  // namespace tcc
