#pragma once

#include <optional>

#include "schedule/sketches/parts/sketch.h"
#include "support/target.h"

namespace tcc {

// A few long reductions on a CPU, a sum of all elements say, leave most threads idle with one of
// them each: parts of them run in parallel, and then their results are combined.
//
//   for i { for t }   -->   for t.0 parallel { for i { y.part: for t.1 } }
//                           for i { y: for t.0 }
//
// How many parts there are and in which order they are combined depends on extents alone: what
// comes out is the same for any number of threads.

// Schedules `block` that way and marks it as done. nullopt where its results are many or its
// reduction short, where it has neither rows (row_reduction.h) nor columns (column_reduction.h), or
// a step is not legal.
std::optional<SketchState> ScheduleReductionParts(const SketchState& state, const Block& block,
                                                  const Target& target);

}  // namespace tcc
