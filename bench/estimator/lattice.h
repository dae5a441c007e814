#pragma once

#include <vector>

#include "bench/cpu/kernel_suite.h"
#include "search/space/task_space.h"

namespace tcc {

// Returns the task of a kernel of the suites.
Workload WorkloadOf(const BenchKernel& kernel);

// Returns the sketches of a task with so few values per size that all of their points can be
// measured. Values are powers of two, three times such, the start and the largest; they are thinned
// out until a sketch has its share of about `most` legal points. A searcher sees a space like any
// other. Sketches that would have fewer than a few points are left out, the last ones first.
std::vector<Sketch> LatticeOf(const Workload& workload, const Target& target, size_t most);

// Returns every legal point of a lattice's space.
std::vector<SearchPoint> PointsOf(TaskSpace& lattice);

}  // namespace tcc
