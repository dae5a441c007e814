#pragma once

#include "schedule/sketches/parts/sketch.h"
#include "support/target.h"

namespace tcc {

// Schedules a block that keeps a result in memory while its reduction goes on, on a CPU: sums that
// run along an axis, updates that are scattered in their order. A panel of columns goes through the
// reduction in vectors, where memory is contiguous along the last axis; panels are done in
// parallel.
//
//   for r { for j }    -->    for j.0 parallel { for r { for j.1 { for j.2 vectorized } } }
//
// The axes in front of the reduction are in parallel with the panels. Steps that are not legal are
// left out. All extents are known.
SketchState ScheduleColumnPanels(const SketchState& state, const Block& block,
                                 const Target& target);

}  // namespace tcc
