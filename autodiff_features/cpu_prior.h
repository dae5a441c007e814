#pragma once

#include <span>

#include "autodiff_features/cpu_profile.h"
#include "autodiff_features/nest_work.h"

namespace tcc {

// The conditions of a run.
struct RunSettings {
  int threads = 1;
  bool cold_weights = false;      // constants are in no cache when a run begins
  bool cold_activations = false;  // nor is anything else
};

// Lines that a nest moves into each level during a run.
struct NestTraffic {
  Expr l1_read, l2_read, l3_read;
  Expr l1_written, l2_written, l3_written;
  Expr touched;  // different lines, access by access
};
NestTraffic TrafficOf(const NestWork& nest, const CpuConstants& cpu, const RunSettings& settings);

// Seconds of a nest on a CPU, by what would bound it if nothing else did, and all together.
struct NestPrior {
  Expr issue;
  Expr l2;
  Expr l3;
  Expr memory;
  Expr overhead;
  Expr seconds;
  Expr busy;       // threads that work, on average over the time
  Expr imbalance;  // time of the busiest thread by that of all with equal shares
};

// A bound a level, as in the execution-cache-memory model (Hager, Treibig, Habich, Wellein 2016):
//   issue   = cycles of the straight-line code, runs of it, shares of the threads; the cycles of a
//             body are the largest of its multiply-adds, loads, stores, operations and the latency
//             of a chain of sums
//   l2 ..   = bytes that pass a level by its rate, of the threads that work
//   seconds = (issue^p + l2^p + l3^p + memory^p)^(1/p) + overhead, p = CpuConstants::overlap
NestPrior PriorOf(const NestWork& nest, const NestTraffic& traffic, const Target& target,
                  const CpuConstants& cpu, const RunSettings& settings);

// ln seconds of a kernel.
Expr LnSecondsOf(std::span<const NestPrior> nests, const CpuConstants& cpu);

}  // namespace tcc
