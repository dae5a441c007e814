#pragma once

#include <optional>

#include "autodiff_features/counts/loop_sites.h"
#include "schedule/analysis/region.h"
#include "support/target.h"

namespace tcc {

// The cells and lines that an access of a site touches while loops move, as f64 formulas. A window
// that starts inside a line may touch one more line per run.
struct AccessLines {
  Expr cells;
  Expr lines;
  bool exact = true;  // false: no box of cells is known; an estimate from the loops in its indices
};

// Returns the lines that the access touches while `site.loops[first..]` move. `buffer` is the
// declaration of the accessed buffer.
AccessLines LinesOf(const Site& site, const Access& access, const Buffer& buffer, size_t first);

// Returns the lines of `line_bytes` that a box of the buffer's cells takes; nullopt if its
// dimensions have no order in memory.
std::optional<Expr> LinesOfBox(const Box& box, const Buffer& buffer, int64_t line_bytes);

// The distance in memory between the cells of neighbouring lanes.
enum class LaneStride : uint8_t {
  kNone,        // no vectorized loop
  kSame,        // one cell for all lanes
  kNeighbours,  // one behind the other
  kApart,       // anything else
};
LaneStride LaneStrideOf(const Site& site, const Access& access, const Buffer& buffer);

// The instructions of one run of the straight-line code that move an access's cells between memory
// and registers: each cell once, however many copies use it.
struct AccessInstructions {
  Expr vectors;     // moves of whole vectors
  Expr broadcasts;  // moves of one element for all lanes, or without lanes
  Expr elements;    // moves of single elements
};
AccessInstructions InstructionsOf(const Site& site, const Access& access, const Buffer& buffer,
                                  const Target& target);

}  // namespace tcc
