#pragma once

#include <optional>

#include "schedule/sketches/parts/sketch.h"
#include "support/target.h"

namespace tcc {

// Tiles a contraction for tensor cores. Axes m and n are those of the result that only one operand
// has; k is the reduce axis of both. Tiles have three levels: thread blocks, warps, and the mma
// instructions of one warp, on fragments in registers.
//
//   blockIdx(rest, m.0, n.0) threadIdx.y(m.1, n.1) {
//     r, k.0 pipelined { stage operands in shared memory
//       k.1 { load fragments  m.2 n.2 { mma 16 x 8 } } }
//     the consumer, or the write-back, of the results, by the lanes that hold them: threadIdx.x }
//
// Axes are padded to whole tiles. Returns nullopt if the target has no instruction for the
// operands' types, or if an operand is read at less than a matrix of cells, or at too small a
// matrix.
//
// `block` WritesPlainly and has axes of both kinds, all of known extents.
std::optional<SketchState> TileForTensorCores(const SketchState& state, const Block& block,
                                              const Target& target);

// Does the same in two launches (TilePartsForThreads): the steps of the reduction are dealt to the
// parts round-robin. It also returns nullopt if tiles of the results alone keep every
// multiprocessor busy, or if parts of the reduction would be short.
std::optional<SketchState> TilePartsForTensorCores(const SketchState& state, const Block& block,
                                                   const Target& target);

}  // namespace tcc
