#pragma once

#include <optional>

#include "schedule/sketches/parts/sketch.h"
#include "support/target.h"

namespace tcc {

// A reduction whose operands are contiguous along a spatial axis: vectors along that axis stay in
// registers throughout the reduction.
//
//   for i { for j { for t { X[i, j] += .. } } }   -->
//     for i { for j.0 { X.init; for t { for j.1 unrolled { for j.2 vectorized {
//                               X.out[j] += .. } } }
//                       X.out: X[i, j] = X.out[j] } }
struct ColumnReduction {
  std::string block;
  std::vector<LoopRef> rows;    // the other loops outside, outermost first
  LoopRef columns;              // of the spatial axis
  size_t column_dim = 0;        // its place among the axes of the results, from the last one
  int64_t extent = 1;           // of the loop
  std::vector<LoopRef> reduce;  // the loops inside
};

// Vectorizes the reduction along its columns. Returns the loop inside `rows` whose iterations are
// independent, or nullopt if a step is not legal; some steps have then been taken.
std::optional<LoopRef> ReduceInColumns(SketchState& state, const ColumnReduction& reduction,
                                       const Target& target);

// Returns the columns of a reduction (WritesTuplePlainly, known extents): the last spatial variable
// with more than one value, if no operand needs a gather along it.
std::optional<size_t> ColumnsOf(const Function& fn, const Block& block);

// Schedules a reduction to a tuple that has columns, and marks it as done. Returns nullopt if it
// has none, or a step is not legal.
std::optional<SketchState> ScheduleColumns(const SketchState& state, const Block& block,
                                           const Target& target);

}  // namespace tcc
