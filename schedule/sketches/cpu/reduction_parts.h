#pragma once

#include <optional>

#include "schedule/sketches/parts/sketch.h"
#include "support/target.h"

namespace tcc {

// Parallel parts of long reductions on a CPU. A few long reductions, say one sum of all elements,
// leave most threads idle if each runs on one thread. Parts of them run in parallel instead, and
// then their results are combined.
//
//   for i { for t }   -->   for t.0 parallel { for i { y.part: for t.1 } }
//                           for i { y: for t.0 }
//
// The number of parts and the order in which they are combined depend on extents alone: the result
// is the same for any number of threads.

// Schedules `block` that way and marks it as done. Returns nullopt if it has many results or a
// short reduction, if it has neither rows (row_reduction.h) nor columns (column_reduction.h), or a
// step is not legal.
std::optional<SketchState> ScheduleReductionParts(const SketchState& state, const Block& block,
                                                  const Target& target);

}  // namespace tcc
