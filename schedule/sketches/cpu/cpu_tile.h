#pragma once

#include <vector>

#include "schedule/sketches/parts/sketch.h"
#include "support/target.h"

// Multi-level tiling of a reduction for a CPU.
namespace tcc {

// Schedules a reduction by register tiles: `rows` of one axis times `registers` vectors of another
// stay in registers through the whole reduction.
//
//   parallel (columns.0, others, rows.0) { columns.1 { rows.1 {
//     r...  rows.2 columns.2 columns.3: tile += ...
//     the consumer, or the write-back, of the tile } } }
//
// A fork for each order of the tiles, and some with copies of varying operands in panels of columns
// (panel_copy.h): first, where lanes would gather them. Long reductions whose operands several
// tiles read get one more in steps (stepped_tile.h): last, or first where one chain of sums would
// be rounded too often. `block` WritesPlainly and has axes of both kinds, all of known extents.
std::vector<SketchState> TileForRegisters(const SketchState& state, const Block& block,
                                          const Target& target);

}  // namespace tcc
