#pragma once

#include <string>
#include <vector>

#include "autodiff_features/access_lines.h"
#include "autodiff_features/cache_traffic.h"
#include "autodiff_features/instance_counts.h"
#include "autodiff_features/operation_counts.h"
#include "schedule/space/resources.h"
#include "support/target.h"

namespace tcc {

// All that is counted of a leaf block: what features and the prior are made of.
struct SiteWork {
  Site site;
  InstanceCounts counts;
  OperationCounts operations;  // of an instance
  Expr vectors;                // registers of a result of all lanes
  // In memory: buffers that become registers are left out. A reduction reads its results, too.
  std::vector<TracedAccess> accesses;
  AccessInstructions loads;   // of one run of the straight-line code; what stays the same in the
  AccessInstructions stores;  // innermost loop counts with its share of it, if a register is free
  std::vector<Expr> footprints;  // f64 bytes that one iteration of each loop touches
  bool in_registers = false;     // its results are
};

// A nest at the root of a function.
struct NestWork {
  std::string name;
  std::vector<SiteWork> sites;
  NestResources resources;
  Expr bytes;       // f64; that all of it touches
  Expr forks;       // starts of parallel loops
  Expr prefetched;  // lines
  size_t main = 0;  // of `sites`: the one with most instances, reductions first
};

// Counts every nest of `fn` (kScheduled, sizes free or known) that runs with the kernel, in order.
std::vector<NestWork> WorkOf(const Function& fn, const Target& target);

}  // namespace tcc
