#pragma once

#include <optional>

#include "schedule/sketches/parts/sketch.h"
#include "support/target.h"

namespace tcc {

// Schedules a map whose last axis has neighbours that are none in an operand, while those along
// another axis are, on a CPU: each line of the operand would be fetched once for every element that
// is taken from it. A tile of the operand is loaded in vectors along its own memory, turned in
// registers, and read in vectors along the map's last axis.
//
//   for i { for j { Y[i, j] = f(X[j, i]) } }
//     -->  parallel (i.0, j.0) { X_s: j.1 { i.1 vectorized }      copies
//                                X_t: i.1 j.1 unrolled: X_t[i, j] = X_s[j, i]
//                                i.1 unrolled { j.1 vectorized: Y[i, j] = f(X_t[i, j]) } }
//
// nullopt where the block is no such map, or a step is not legal. Its extents are known.
std::optional<SketchState> TileTransposing(const SketchState& state, const Block& block,
                                           const Target& target);

}  // namespace tcc
