#pragma once

#include "schedule/sketches/parts/sketch_parts.h"
#include "support/target.h"

namespace tcc {

// Tiles a contraction or window for threads, its spatial axes s on five levels and its reduce axes
// r on three (SSSRRSRS): blocks, virtual threads, threads, then the work of one thread. Operands
// are staged in shared memory some steps of the reduction ahead, results are in registers.
//
//   blockIdx(s.0...) vthread(s.1...) threadIdx(s.2...) {
//     r.0... pipelined { stage operands  r.1... s.3... r.2... s.4... }
//     the consumer, or the write-back, of the results }
//
// `block` WritesPlainly and has axes of both kinds, all of known extents.
SketchState TileForThreads(const SketchState& state, const Block& block, const Target& target);

// Does the same in two launches, so that few results keep many thread blocks busy (split-K): a free
// number of parts of the longest reduce axis are tiled as one more spatial axis of blocks, then a
// thread per result adds them up.
//
//   blockIdx.y(p) blockIdx.x(s.0...) ... { ... part[p, ..] = registers }
//   blockIdx, threadIdx(s...) { p: result += part[p, ..] }
SketchState TilePartsForThreads(const SketchState& state, const Block& block, const Target& target);

// Schedules the second launch of `reduction`, which combines the parts of the loop `parts`: a
// thread per result, which also runs `reader` on it.
void CombineParts(SketchState& state, const Block& reduction, const LoopRef& parts,
                  const ResultReader& reader);

// Returns whether tiles of the results alone leave multiprocessors idle and the reduction is long.
bool IsWorthSplitting(const Block& block, const Target& target);

}  // namespace tcc
