#pragma once

#include <optional>

#include "schedule/sketches/parts/sketch.h"
#include "support/target.h"

namespace tcc {

// Flash attention on a CPU: the core of attention as one loop over tiles of queries, with the keys
// in tiles too (by RFactorTile):
//
//   parallel (b*h*i.0) {
//     t.0 {
//       for panels of keys { scores: a register tile  logits }
//       maximum of the tile's logits  powers  their sums  sums of values: a register tile
//       combined with m, l, acc }
//     out }

// Schedules the core together with the map and the contraction that compute its logits and the
// block that reads its results, and marks all of them as done. Returns nullopt if the function has
// another form or a step is not legal.
std::optional<SketchState> ScheduleAttention(const SketchState& state, const Block& core,
                                             const Target& target);

}  // namespace tcc
