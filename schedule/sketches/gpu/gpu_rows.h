#pragma once

#include <vector>

#include "schedule/sketches/parts/sketch.h"

namespace tcc {

// Row reductions (row_reduction.h) on a GPU: softmax, normalizations, reductions of trailing axes,
// with the maps before, between and after them, as one launch. A thread block has a few rows, and
// threads along x share each row:
//
//   max: for i { for t }          for i.0 blockIdx.x {
//   exp: for i { for j }    -->     max: for i.1 @y { t.0 { t.1 unrolled { t.2 @x { t.3 vector } }
//   sum: for i { for t }            exp: for i.1 @y { j.0 { j.1 unrolled { j.2 @x { j.3 vector } }
//   out: for i { for j }            sum: ..  out: .. }
//
// Results of the reductions are registers of all threads of the row (ir/analysis/cross_thread.h).
// The elements of maps in between stay in shared memory, where each thread reads those that it
// wrote itself; or they are recomputed at each read, which takes no memory.

// Schedules `block`, a row reduction or a map before one, together with the blocks after it that
// can work row by row; all of them are marked as done. Returns the ways to do that, none if a step
// is not legal.
std::vector<SketchState> ScheduleThreadRows(const SketchState& state, const Block& block,
                                            const Target& target);

}  // namespace tcc
