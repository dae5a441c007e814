#pragma once

#include <optional>

#include "schedule/sketches/parts/sketch.h"

namespace tcc {

// The register tiles (register_tiling.h) of a window, with the map that makes what it slides over:
// a thread has some rows of windows, keeps of what they read as many rows as one of them, and
// computes those that are new.
//
//   parallel (others, y.0) { fill all rows but the new ones
//     y.1 { the new rows of the operand
//       columns.0 rows.0 columns.1 { rows.1 { r... tile } } } }
//
// nullopt where no window of `block` slides along an axis outside its tiles, over cells that
// `producer` makes for it alone.
std::optional<SketchState> TileOverRollingRows(const SketchState& state, const Block& producer,
                                               const Block& block, const Target& target);

}  // namespace tcc
