#pragma once

#include <optional>

#include "schedule/sketches/parts/sketch.h"

namespace tcc {

// A few long rows, say one sum of all elements, would leave most of a GPU idle with a thread block
// per row. Each part of a row gets a thread block instead, and a second launch adds up the parts.
//
//   for i { for t }   -->   for i blockIdx.y { for t.0 blockIdx.x { y.part: t.1.. threadIdx.x } }
//                           for i blockIdx.x { y: for t.0.. threadIdx.x }

// Schedules `block`, a row reduction (row_reduction.h), that way and marks it as done. Returns
// nullopt if it has many rows or short ones, or a step is not legal.
std::optional<SketchState> ScheduleLongRows(const SketchState& state, const Block& block,
                                            const Target& target);

}  // namespace tcc
