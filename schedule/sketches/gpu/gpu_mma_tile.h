#pragma once

#include <optional>

#include "schedule/sketches/parts/sketch.h"
#include "support/target.h"

namespace tcc {

// Tiling of a contraction for tensor cores. Of its axes, m and n are those of the result that only
// one operand has, k the reduce axis of both; tiles of them are three levels deep, blocks, warps
// and what one of them does with mma instructions, on fragments in registers.
//
//   blockIdx(rest, m.0, n.0) threadIdx.y(m.1, n.1) {
//     r, k.0 pipelined { stage operands in shared memory
//       k.1 { load fragments  m.2 n.2 { mma 16 x 8 } } }
//     the consumer, or the write-back, of the results, by the lanes that hold them: threadIdx.x }
//
// Axes are padded to whole tiles. nullopt where the target has no instruction for the operands'
// types, where an operand is read at less than a matrix of cells, or too small a one.
//
// `block` WritesPlainly and has axes of both kinds, all of known extents.
std::optional<SketchState> TileForTensorCores(const SketchState& state, const Block& block,
                                              const Target& target);

// The same in two launches (TilePartsForThreads): of the steps of the reduction every part has one
// of each `parts`. nullopt also where tiles of the results alone keep every multiprocessor busy, or
// parts of the reduction would be short.
std::optional<SketchState> TilePartsForTensorCores(const SketchState& state, const Block& block,
                                                   const Target& target);

}  // namespace tcc
