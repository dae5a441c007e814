#pragma once

#include <optional>

#include "schedule/sketches/parts/sketch.h"

namespace tcc {

// The core of attention on a GPU as one launch, a query a thread (flash attention, by RFactorTile).
// What belongs to a query stays in its thread's registers: logits, maximum, sum and a slice of the
// values; threads along y have other slices of the same query and each its own scores.
//
//   blockIdx.x (b*h*i.0) {
//     stage queries                               shared, rows apart by an odd number of banks
//     threadIdx.x (i.1) threadIdx.y (d.0) {
//       t.0 {                                     tiles of keys
//         stage keys, values                      shared
//         scores  logits  maximum  powers  their sums  sums of values: all unrolled
//         combined with m, l, acc }
//       out } }

// Schedules the attention that `block` is a part of: its core, the blocks that make its logits, a
// map that makes keys for them alone, and the block that reads its results; all are marked as done.
// nullopt where there is none or a step is not legal.
std::optional<SketchState> ScheduleThreadAttention(const SketchState& state, const Block& block);

}  // namespace tcc
