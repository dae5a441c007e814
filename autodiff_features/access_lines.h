#pragma once

#include "autodiff_features/loop_sites.h"
#include "support/target.h"

namespace tcc {

// Bytes that move between caches together.
inline constexpr int64_t kLineBytes = 64;

// Cells and lines that an access of a site touches while loops move, as f64 formulas. Windows that
// start inside a line may touch one more for each run.
struct AccessLines {
  Expr cells;
  Expr lines;
  bool exact = true;  // false: no box of cells is known; an estimate from the loops in its indices
};

// While `site.loops[first..]` move. `buffer` is the declaration of what is accessed.
AccessLines LinesOf(const Site& site, const Access& access, const Buffer& buffer, size_t first);

// How the cells of neighbouring lanes lie in memory.
enum class LaneStride : uint8_t {
  kNone,        // no vectorized loop
  kSame,        // one cell for all lanes
  kNeighbours,  // one behind the other
  kApart,       // anything else
};
LaneStride LaneStrideOf(const Site& site, const Access& access, const Buffer& buffer);

// Instructions of one run of the straight-line code that move an access's cells between memory and
// registers: each cell once, however many copies use it.
struct AccessInstructions {
  Expr vectors;     // of whole vectors
  Expr broadcasts;  // of one element for all lanes, or without lanes
  Expr elements;    // one by one
};
AccessInstructions InstructionsOf(const Site& site, const Access& access, const Buffer& buffer,
                                  const Target& target);

}  // namespace tcc
