#pragma once

#include <optional>

#include "schedule/sketches/parts/sketch.h"

namespace tcc {

// A few long rows, a sum of all elements say, would leave most of a GPU idle with a thread block
// each: parts of a row get one, and a second launch adds up what they have.
//
//   for i { for t }   -->   for i blockIdx.y { for t.0 blockIdx.x { y.part: t.1.. threadIdx.x } }
//                           for i blockIdx.x { y: for t.0.. threadIdx.x }

// Schedules `block`, a row reduction (row_reduction.h), that way and marks it as done. nullopt
// where its rows are many or short, or a step is not legal.
std::optional<SketchState> ScheduleLongRows(const SketchState& state, const Block& block,
                                            const Target& target);

}  // namespace tcc
