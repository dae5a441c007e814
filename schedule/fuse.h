#pragma once

#include "schedule/constraint.h"
#include "schedule/loop_tree.h"

namespace tcc {

// Two loops, one directly inside the other, become one.
//
//   for i in 0..E                 for f in 0..E*F                 key: block/(i*j)
//     for j in 0..F       -->       S(f div F, f mod F)
//       S(i, j)
//
// Bindings get div and mod, so fuse loops above the places where buffers live, or those that the
// fused loop then binds to threads (region.h).
struct Fuse {
  LoopRef outer;
  LoopRef inner;
  auto Fields() { return std::tie(outer, inner); }
};

// Refused: loops that are not serial or not perfectly nested; an inner extent of 0.
StatusOr<Constraints> CheckFuse(const Function& fn, const Fuse& step);
Function ApplyFuse(const Function& fn, const Fuse& step);

// The key of the fused loop.
LoopRef FusedKey(const LoopRef& outer, const LoopRef& inner);

}  // namespace tcc
