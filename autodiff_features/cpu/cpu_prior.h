#pragma once

#include <span>

#include "autodiff_features/counts/run_settings.h"
#include "autodiff_features/cpu/cpu_profile.h"
#include "autodiff_features/cpu/nest_work.h"

namespace tcc {

// The lines that a nest moves into each level during a run.
struct NestTraffic {
  Expr l1_read, l2_read, l3_read;
  Expr l1_written, l2_written, l3_written;
  Expr touched;  // different lines, access by access
};
NestTraffic TrafficOf(const NestWork& nest, const CpuConstants& cpu, const RunSettings& settings);

// The seconds of a nest on a CPU: the bound by each resource alone, and all together.
struct NestPrior {
  Expr issue;
  Expr l2;
  Expr l3;
  Expr memory;
  Expr overhead;
  Expr seconds;
  Expr busy;       // the threads that work, averaged over time
  Expr imbalance;  // the busiest thread's time over that of equal shares
};

// Returns one bound per level, as in the execution-cache-memory model (Hager, Treibig, Habich,
// Wellein 2016):
//   issue   = cycles of the straight-line code, runs of it, shares of the threads; the cycles of a
//             body are the largest of its multiply-adds, loads, stores, operations and the latency
//             of a chain of sums
//   l2 ..   = bytes that pass a level by its rate, of the threads that work
//   seconds = (issue^p + l2^p + l3^p + memory^p)^(1/p) + overhead, p = CpuConstants::overlap
NestPrior PriorOf(const NestWork& nest, const NestTraffic& traffic, const Target& target,
                  const CpuConstants& cpu, const RunSettings& settings);

// Returns ln seconds of a kernel.
Expr LnSecondsOf(std::span<const NestPrior> nests, const CpuConstants& cpu);

}  // namespace tcc
