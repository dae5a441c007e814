#pragma once

#include "schedule/sketches/parts/sketch.h"

namespace tcc {

// A reduction along the innermost loop of its nest, with partial results in the lanes of vectors:
//
//   for t { X[i] += .. }   -->   for t.0 { t.1 vectorized { X.lanes[i, t.1] += .. } }
//                                X.quarter: the lanes in quarters; X: the rest one by one
//
// Long loops get several such vectors, as an addition takes longer than it keeps its unit busy.
struct LaneReduction {
  std::string block;
  LoopRef loop;
  int64_t extent = 1;  // of the loop
  int64_t lanes = 1;   // at most; a power of two
  // A loop over a few rows round it, or "": rows are done together, a vector of each in turn, so
  // that none waits for its own last addition.
  LoopRef rows = "";
};

// Loops of at most so many vectors are unrolled: what is masked at their end is then known.
inline constexpr int64_t kUnrolledVectors = 16;

// False where a step is not legal; then some steps have been taken.
bool ReduceInLanes(SketchState& state, const LaneReduction& reduction);

}  // namespace tcc
