#pragma once

#include <optional>
#include <string>
#include <vector>

#include "schedule/sketches/parts/sketch.h"
#include "support/target.h"

namespace tcc {

// Row reductions on a CPU: sums, maxima and the like over the axis along which memory is
// contiguous, as in softmax and normalizations. Partial results are in vector lanes, and the blocks
// of a chain process a row while it is in the cache:
//
//   max: for i { for t }                for i parallel {
//   exp: for i { for j }      -->         max.lanes: for t.0 { t.1 vectorized }  max: for lanes
//   sum: for i { for t }                  exp: for j.0 { j.1 vectorized }
//   out: for i { for j }                  sum.lanes: ...  sum: ...  out: ... }

// Returns whether `block` of `fn` is a row reduction: extents are known, and an operand has all its
// axes, the last reduced one last, with at least kMinRow elements along it. Axes and dimensions
// of extent 1 do not count, so that a product with one column is a row reduction.
bool IsRowReduction(const Function& fn, const Block& block);

// Returns how many iteration variables of a chain's last block select the row: the outermost ones,
// up to the last with which it indexes a result of the chain's reductions.
size_t RowItersOf(const Function& fn, const std::vector<std::string>& chain);

// Returns whether the block can be placed in a loop over `rows` rows without recomputation: a row
// reduction has one result per row, a map has elements of each row.
bool WorksByRow(const Function& fn, const Block& block, int64_t rows);

// Schedules `block`, a row reduction, together with the blocks after it that can work row by row;
// all of them are marked as done. Returns nullopt if a step is not legal.
std::optional<SketchState> ScheduleRows(const SketchState& state, const Block& block,
                                        const Target& target);

}  // namespace tcc
