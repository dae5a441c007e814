#pragma once

#include <optional>

#include "schedule/sketches/parts/sketch.h"
#include "support/target.h"

namespace tcc {

// The core of attention on a CPU as one loop over tiles of queries, with its keys in tiles as well
// (flash attention, by RFactorTile):
//
//   parallel (b*h*i.0) {
//     t.0 {
//       for panels of keys { scores: a register tile  logits }
//       maximum of the tile's logits  powers  their sums  sums of values: a register tile
//       combined with m, l, acc }
//     out }

// Schedules the core with the map and the contraction that make its logits and the block that reads
// its results; all are marked as done. nullopt where the function is not so or a step not legal.
std::optional<SketchState> ScheduleAttention(const SketchState& state, const Block& core,
                                             const Target& target);

}  // namespace tcc
