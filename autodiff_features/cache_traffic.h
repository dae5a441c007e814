#pragma once

#include <vector>

#include "autodiff_features/instance_counts.h"

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

}  // namespace tcc
