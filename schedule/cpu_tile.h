#pragma once

#include <optional>
#include <vector>

#include "ir/target.h"
#include "schedule/sketch.h"

// Multi-level tiling of a reduction for a CPU, and what its other rules share with it.
namespace tcc {

// Schedules a reduction by register tiles: `rows` of one axis times `registers` vectors of another
// stay in registers through the whole reduction.
//
//   parallel (columns.0, others, rows.0) { columns.1 { rows.1 {
//     r...  rows.2 columns.2 columns.3: tile += ...
//     the consumer, or the write-back, of the tile } } }
//
// A fork for each order of the tiles, and some with copies of varying operands in panels of columns
// (panel_copy.h): first, where lanes would gather them. `block` WritesPlainly and has axes of both
// kinds, all of known extents.
//
// Long reductions whose operands several tiles read get one more, last, or first where one chain of
// sums would be rounded too often, in steps of their longest axis: tiles take turns with one step,
// whose operands stay in caches meanwhile (limits.h).
//
//   parallel (columns.0, others.0, rows.0) { results = 0
//     r.0 { columns.1 { others.1 { rows.1 {
//       r.1...  rows.2 columns.2 columns.3: tile += ...
//       results += tile } } } }
//     the consumer of the results, if there is one }
//
// A tile has sums of its own for each step (RFactorTile), which are added to results in memory. It
// could also load them before a step and store them after it, but that takes an initialisation that
// reads, and no step makes one; RFactor alone would keep the results of all steps until the end.
// Sums of steps are shorter chains of roundings, too.
std::vector<SketchState> TileForRegisters(const SketchState& state, const Block& block,
                                          const Target& target);

// The same of a window, with the map that makes what it slides over: a thread has some rows of
// windows, keeps of what they read as many rows as one of them, and computes those that are new.
//
//   parallel (others, y.0) { fill all rows but the new ones
//     y.1 { the new rows of the operand
//       columns.0 rows.0 columns.1 { rows.1 { r... tile } } } }
//
// nullopt where no window of `block` slides along an axis outside its tiles, over cells that
// `producer` makes for it alone.
std::optional<SketchState> TileOverRollingRows(const SketchState& state, const Block& producer,
                                               const Block& block, const Target& target);

// `loops` of the block as one in parallel, where it has work enough.
void RunInParallel(SketchState& state, const Block& block, const std::vector<LoopRef>& loops);

// The state, with what the block computes made a constant where it can be.
SketchState Prepacked(const SketchState& state, const Block& block);

}  // namespace tcc
