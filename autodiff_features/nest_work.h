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

// All counts of a leaf block, which features and the prior are derived from.
struct SiteWork {
  Site site;
  InstanceCounts counts;
  OperationCounts operations;  // operations per instance
  Expr vectors;                // the registers that a result of all lanes takes
  // The accesses to memory: buffers that become registers are left out. A reduction reads its
  // results, too.
  std::vector<TracedAccess> accesses;
  AccessInstructions loads;   // per run of the straight-line code; an access that is invariant in
  AccessInstructions stores;  // the innermost loop counts with its share, if a register is free
  std::vector<Expr> footprints;  // f64 bytes that one iteration of each loop touches
  bool in_registers = false;     // whether its results stay in registers
};

// A nest at the root of a function.
struct NestWork {
  std::string name;
  std::vector<SiteWork> sites;
  NestResources resources;
  Expr bytes;       // f64; the bytes that the nest touches
  Expr forks;       // the starts of parallel loops
  Expr prefetched;  // the prefetched lines
  size_t main = 0;  // the site with the most instances, reductions first
};

// Counts every nest of `fn` (kScheduled, sizes free or known) that runs with the kernel, in order.
std::vector<NestWork> WorkOf(const Function& fn, const Target& target);

}  // namespace tcc
