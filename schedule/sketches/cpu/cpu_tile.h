#pragma once

#include <vector>

#include "schedule/sketches/parts/sketch.h"
#include "support/target.h"

// Multi-level tiling of a reduction for a CPU.
namespace tcc {

// Schedules a reduction by register tiles: `rows` of one axis times `registers` vectors of another
// stay in registers throughout the reduction.
//
//   parallel (columns.0, others, rows.0) { columns.1 { rows.1 {
//     r...  rows.2 columns.2 columns.3: tile += ...
//     the consumer, or the write-back, of the tile } } }
//
// Returns a fork per order of the tiles, and some that copy non-constant operands into panels of
// columns (panel_copy.h); these come first if lanes would gather the operands. Long reductions
// whose operands several tiles read get one more fork, in steps (stepped_tile.h): last, or first if
// one chain of sums would be rounded too often. `block` WritesPlainly and has axes of both kinds,
// all of known extents.
std::vector<SketchState> TileForRegisters(const SketchState& state, const Block& block,
                                          const Target& target);

}  // namespace tcc
