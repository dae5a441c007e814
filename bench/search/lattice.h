#pragma once

#include <vector>

#include "bench/cpu/kernel_suite.h"
#include "search/space/task_space.h"

namespace tcc {

// The task of a kernel of the suites.
Workload WorkloadOf(const BenchKernel& kernel);

// The sketches of a task with so few values for each size that all of their points can be measured:
// powers of two, three times such, the start and the largest, thinned out until a sketch has its
// share of about `most` legal points. A searcher sees a space like any other. Sketches are left
// out, the last ones first, that would have fewer than a few points.
std::vector<Sketch> LatticeOf(const Workload& workload, const Target& target, size_t most);

// Every legal point of a space of that kind.
std::vector<SearchPoint> PointsOf(TaskSpace& lattice);

}  // namespace tcc
