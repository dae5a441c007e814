#pragma once

#include <string>
#include <vector>

#include "autodiff_features/counts/access_lines.h"
#include "autodiff_features/counts/instance_counts.h"
#include "autodiff_features/counts/operation_counts.h"
#include "schedule/space/resources.h"
#include "support/target.h"

namespace tcc {

// An access of a site with the data to estimate how often its lines are fetched.
struct TracedAccess {
  Access access;
  Buffer buffer;
  bool is_write = false;
  // The lines that it touches while loops[j..] of the site move, for each j up to the first loop of
  // the straight-line code; the last entry is one run of that code.
  std::vector<Expr> lines;
  bool exact = true;  // whether every box of cells is known
};

// Returns the lines that the access moves into a cache of `bytes` (an f64 formula) during one run
// of the function. `footprints` are the bytes that one iteration of each of the site's loops
// touches, all accesses of the nest together.
//
// A cache keeps the data of one iteration of a loop until the next one if all of it fits. A run of
// the loop then fetches each of its lines once, and the result is the lines of the outermost such
// loop times its runs. Loops are the units of reuse; sets and partial survival are not modelled.
// With an empty cache every access of the straight-line code counts; with an infinite one every
// line counts once.
Expr LinesInto(const Site& site, const InstanceCounts& counts, const TracedAccess& access,
               const std::vector<Expr>& footprints, const Expr& bytes);

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
