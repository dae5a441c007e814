#pragma once

#include <vector>

#include "autodiff_features/instance_counts.h"

namespace tcc {

// An access of a site with what it takes to say how often its lines are fetched.
struct TracedAccess {
  Access access;
  Buffer buffer;
  bool is_write = false;
  // Lines that it touches while loops[j..] of the site move, for each j up to the first loop of
  // the straight-line code; the last entry is one run of that code.
  std::vector<Expr> lines;
  bool exact = true;  // every box of cells is known
};

// Lines that the access moves into a cache of `bytes` (an f64 formula) during one run of the
// function. `footprints`: bytes that one iteration of each of the site's loops touches, all
// accesses of the nest together.
//
// A cache keeps what an iteration of a loop touched until the next one if all that fits it: then a
// run of the loop fetches each of its lines once, and the lines are those of the outermost such
// loop by the runs of it. Loops are the units of reuse; sets and partial survival are not known.
// With a cache of nothing every access of the straight-line code counts; with an endless one every
// line does once.
Expr LinesInto(const Site& site, const InstanceCounts& counts, const TracedAccess& access,
               const std::vector<Expr>& footprints, const Expr& bytes);

}  // namespace tcc
