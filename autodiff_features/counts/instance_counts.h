#pragma once

#include "autodiff_features/counts/loop_sites.h"

namespace tcc {

// The counts of a leaf block and its loops in one run of the function, as f64 formulas over the
// free sizes. The straight-line code of a site is its body in the unrolled and vectorized loops
// directly round it; "tiles" of a variable are the iterations of its other loops that hold an
// instance. The counts are upper bounds if the site is not exact.
struct InstanceCounts {
  Expr issued;  // iterations of all loops, of unrolled and vectorized ones too
  Expr useful;  // instances that exist
  Expr bodies;  // runs of the straight-line code in which an instance exists
  Expr dead;    // further iterations of the loops round it, all beyond some extent
  // The starts of the innermost loop round the straight-line code, each of which runs `trip` times.
  Expr entries;
  Expr trip;
  // The number of times that loops[j..] start with an instance that exists, for each j; last,
  // `bodies`.
  std::vector<Expr> starts;
  Expr pieces;  // iterations of the parallel loop; 1 without
  Expr piece;   // bodies in a whole iteration of it; all without
  Expr lanes;   // lanes of the vectorized loop; 1 without
  Expr copies;  // copies of the straight-line code's statement, lanes aside
  Expr chain;   // copies that follow each other in one cell: unrolled reduction loops
  // The share of the straight-line code's work that exists, by lanes and by unrolled copies.
  Expr lane_use;
  Expr row_use;
  // Whether the innermost loop round the straight-line code feeds a reduction.
  bool accumulates = false;
};

InstanceCounts CountsOf(const Site& site);

}  // namespace tcc
