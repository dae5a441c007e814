#pragma once

#include <optional>

#include "schedule/sketches/parts/sketch.h"
#include "support/target.h"

namespace tcc {

// Schedules, for a GPU, an elementwise block that reads an operand transposed (turned_operand.h):
// contiguous along another axis instead of the last one. A warp would fetch a line of the operand
// per thread. A thread block copies a tile along the operand's own memory to shared memory, and
// reads it transposed. Rows of the tile are an odd number of words long, so that the threads of a
// warp read from different banks.
//
//   for i { for j { Y[i, j] = f(X[j, i]) } }
//     -->  (i.0, j.0) blockIdx.x { X_s: (j.1, i.1) threadIdx.x: X_s[j, i] = X[j, i]
//                                  (i.2, j.1) threadIdx.x { i.1 unrolled: Y[i, j] = f(X_s[j, i]) }
//                                  }
//
// Returns nullopt if the block reads no operand so, or a step is not legal. Its extents are known.
std::optional<SketchState> TileTransposingForThreads(const SketchState& state, const Block& block);

}  // namespace tcc
