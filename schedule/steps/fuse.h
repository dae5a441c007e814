#pragma once

#include "schedule/analysis/constraint.h"
#include "schedule/analysis/loop_tree.h"

namespace tcc {

// Fuses two loops, one directly inside the other, into one.
//
//   for i in 0..E                 for f in 0..E*F                 key: block/(i*j)
//     for j in 0..F       -->       S(f div F, f mod F)
//       S(i, j)
//
// Bindings get div and mod, so fuse only loops above the buffers' allocations, or loops to be bound
// to threads as one (region.h).
struct Fuse {
  LoopRef outer;
  LoopRef inner;
  auto Fields() { return std::tie(outer, inner); }
};

// Refused: loops that are not serial or not perfectly nested; an inner extent of 0.
StatusOr<Constraints> CheckFuse(const Function& fn, const Fuse& step);
Function ApplyFuse(const Function& fn, const Fuse& step);

// Fuses like Fuse, but the iterations traverse bands of `rows` values of the outer loop, column by
// column: thread blocks that run at the same time then share more of their operands, which stay in
// L2.
//
//   rows 2, E 4, F 4:   0  1  2  3          0  2  4  6
//                       4  5  6  7    -->   1  3  5  7
//                       8  9 10 11          8 10 12 14
//                      12 13 14 15          9 11 13 15
//
// The last band has fewer rows if `rows` does not divide E; every pair occurs once.
struct Rasterize {
  LoopRef outer;
  LoopRef inner;
  Expr rows;
  auto Fields() { return std::tie(outer, inner, rows); }
};

// Refused: what Fuse refuses; a loop that feeds a reduction or carries a rolling buffer; a number
// of rows that is provably below 1. Constraint: 1 - rows <= 0.
StatusOr<Constraints> CheckRasterize(const Function& fn, const Rasterize& step);
Function ApplyRasterize(const Function& fn, const Rasterize& step);

// Returns the key of the fused loop.
LoopRef FusedKey(const LoopRef& outer, const LoopRef& inner);

}  // namespace tcc
