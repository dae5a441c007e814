#pragma once

#include <optional>

#include "schedule/sketches/parts/sketch.h"
#include "support/target.h"

namespace tcc {

// Schedules a map whose last axis has neighbours that are none in an operand, while those along
// another axis are (turned_operand.h), on a GPU: a warp would ask for a line of the operand for
// every thread. A thread block copies a tile along the operand's own memory to shared memory, and
// reads it across. Rows of the tile are an odd number of words long, so that the threads of a warp
// read from different banks.
//
//   for i { for j { Y[i, j] = f(X[j, i]) } }
//     -->  (i.0, j.0) blockIdx.x { X_s: (j.1, i.1) threadIdx.x: X_s[j, i] = X[j, i]
//                                  (i.2, j.1) threadIdx.x { i.1 unrolled: Y[i, j] = f(X_s[j, i]) }
//                                  }
//
// nullopt where the block is no such map, or a step is not legal. Its extents are known.
std::optional<SketchState> TileTransposingForThreads(const SketchState& state, const Block& block);

}  // namespace tcc
