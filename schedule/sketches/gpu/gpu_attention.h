#pragma once

#include <optional>

#include "schedule/sketches/parts/sketch.h"

namespace tcc {

// Flash attention on a GPU: the core of attention as one launch, with a query per thread (by
// RFactorTile). A thread keeps its query's logits, maximum, sum and a slice of the values in
// registers. Threads along y have other slices of the same query, and each computes its own scores.
//
//   blockIdx.x (b*h*i.0) {
//     stage queries                               shared, rows apart by an odd number of banks
//     threadIdx.x (i.1) threadIdx.y (d.0) {
//       t.0 {                                     tiles of keys
//         stage keys, values                      shared
//         scores  logits  maximum  powers  their sums  sums of values: all unrolled
//         combined with m, l, acc }
//       out } }

// Schedules the attention that `block` is a part of: its core, the blocks that compute its logits,
// a map that computes keys for them alone, and the block that reads its results; all are marked as
// done. Returns nullopt if there is none or a step is not legal.
std::optional<SketchState> ScheduleThreadAttention(const SketchState& state, const Block& block);

}  // namespace tcc
