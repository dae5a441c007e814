#pragma once

#include "schedule/sketches/parts/sketch.h"
#include "support/target.h"

namespace tcc {

// Schedules, for a CPU, a block that keeps a result in memory during its reduction: cumulative sums
// along an axis, scatter updates in order. A panel of columns runs through the reduction in vectors
// if memory is contiguous along the last axis; panels run in parallel.
//
//   for r { for j }    -->    for j.0 parallel { for r { for j.1 { for j.2 vectorized } } }
//
// The axes outside the reduction run in parallel with the panels. Steps that are not legal are
// skipped. All extents are known.
SketchState ScheduleColumnPanels(const SketchState& state, const Block& block,
                                 const Target& target);

}  // namespace tcc
