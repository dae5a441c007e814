#pragma once

#include "schedule/sketch.h"

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
};

// False where a step is not legal; then some steps have been taken.
bool ReduceInLanes(SketchState& state, const LaneReduction& reduction);

}  // namespace tcc
