#pragma once

#include <optional>
#include <string>
#include <vector>

#include "schedule/sketches/parts/sketch.h"
#include "support/target.h"

namespace tcc {

// Row reductions on a CPU: sums, maxima and the like over the axis along which memory is
// contiguous, as in softmax and normalizations. Partial results stand in vector lanes, and the
// blocks of a chain work on a row while it is in the cache:
//
//   max: for i { for t }                for i parallel {
//   exp: for i { for j }      -->         max.lanes: for t.0 { t.1 vectorized }  max: for lanes
//   sum: for i { for t }                  exp: for j.0 { j.1 vectorized }
//   out: for i { for j }                  sum.lanes: ...  sum: ...  out: ... }

// Whether `block` of `fn` is one: at known extents, an operand has all its axes, the last reduced
// one last, and at least `kMinRow` elements along it. Axes and dimensions of extent 1 do not
// count, so that a product with one column is one.
inline constexpr int64_t kMinRow = 8;
bool IsRowReduction(const Function& fn, const Block& block);

// Of a chain of blocks, how many iteration variables of the last one pick the row: those up to the
// last by which it reads a result of the chain's reductions. They are the outermost ones.
size_t RowItersOf(const Function& fn, const std::vector<std::string>& chain);

// Whether the block may stand in a loop over `rows` rows, where nothing is done twice: a row
// reduction has a result a row, a map elements of each.
bool WorksByRow(const Function& fn, const Block& block, int64_t rows);

// Schedules `block`, a row reduction, together with the blocks after it that can work row by row;
// all of them are marked as done. nullopt where a step of it is not legal.
std::optional<SketchState> ScheduleRows(const SketchState& state, const Block& block,
                                        const Target& target);

}  // namespace tcc
