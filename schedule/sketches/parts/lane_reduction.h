#pragma once

#include "schedule/sketches/parts/sketch.h"

namespace tcc {

// A reduction along the innermost loop of its nest, with partial results in vector lanes:
//
//   for t { X[i] += .. }   -->   for t.0 { t.1 vectorized { X.lanes[i, t.1] += .. } }
//                                X.quarter: the lanes in quarters; X: the rest one by one
//
// Long loops get several such vectors, since the latency of an addition exceeds its throughput.
struct LaneReduction {
  std::string block;
  LoopRef loop;
  int64_t extent = 1;  // of the loop
  int64_t lanes = 1;   // at most; a power of two
  // A loop around it over a few rows, or "": the rows are interleaved, a vector of each in turn, so
  // that none waits for its own last addition.
  LoopRef rows = "";
};

// Returns false if a step is not legal; some steps have then been taken.
bool ReduceInLanes(SketchState& state, const LaneReduction& reduction);

}  // namespace tcc
