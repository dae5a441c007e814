#pragma once

#include <optional>

#include "schedule/sketches/parts/sketch.h"

namespace tcc {

// Schedules the register tiles (register_tiling.h) of a window together with the map that computes
// its operand: a thread has some rows of windows, keeps as many operand rows as one window reads,
// and computes only the new ones.
//
//   parallel (others, y.0) { fill all rows but the new ones
//     y.1 { the new rows of the operand
//       columns.0 rows.0 columns.1 { rows.1 { r... tile } } } }
//
// Returns nullopt unless a window of `block` slides along an axis outside its tiles, over cells
// that `producer` computes for it alone.
std::optional<SketchState> TileOverRollingRows(const SketchState& state, const Block& producer,
                                               const Block& block, const Target& target);

}  // namespace tcc
