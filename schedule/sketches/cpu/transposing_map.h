#pragma once

#include <optional>

#include "schedule/sketches/parts/sketch.h"
#include "support/target.h"

namespace tcc {

// Schedules, for a CPU, an elementwise block that reads an operand transposed: contiguous along
// another axis instead of the last one. Each line of the operand would be fetched once per element
// taken from it. A tile of the operand is loaded in vectors along its own memory, transposed in
// registers, and read in vectors along the block's last axis.
//
//   for i { for j { Y[i, j] = f(X[j, i]) } }
//     -->  parallel (i.0, j.0) { X_s: j.1 { i.1 vectorized }      copies
//                                X_t: i.1 j.1 unrolled: X_t[i, j] = X_s[j, i]
//                                i.1 unrolled { j.1 vectorized: Y[i, j] = f(X_t[i, j]) } }
//
// Returns nullopt if the block reads no operand so, or a step is not legal. Its extents are known.
std::optional<SketchState> TileTransposing(const SketchState& state, const Block& block,
                                           const Target& target);

}  // namespace tcc
