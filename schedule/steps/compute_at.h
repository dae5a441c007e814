#pragma once

#include "schedule/analysis/constraint.h"
#include "schedule/analysis/loop_tree.h"

namespace tcc {

// Moves a producer to where its values are read; it computes just the window read there.
//
//   for a in 0..N { T[a] = f(a) }               for i0 { allocate T window [i0*f, f + 2] {
//   for i0 { for i1 { .. T[i0*f + i1 + 2] .. } }  -->     for a in 0..f+2 { T[i0*f + a] = f(i0*f +
//   a) }
//                                                      for i1 { .. T[i0*f + i1 + 2] .. } } }
//
// The window is compact and not clamped; the producer's domain guards the cells outside the tensor.
// The producer gets a fresh nest over the window: its own earlier splits are lost. A tile of a
// reduction (RFactorTile) stays that tile; the initialisation of a decomposed one moves along.
struct ComputeAt {
  std::string block;
  LoopRef loop;
  auto Fields() { return std::tie(block, loop); }
};

// Moves a consumer to where its operand is written; it handles just the cells written there.
//
//   for i0 { for i1 { T[i0*f + i1] = .. } }         for i0 { allocate T window [i0*f, f] {
//   for a in 0..N { C[a] = g(T[a]) }         -->      for i1 { T[i0*f + i1] = .. }
//                                                    for a in 0..f { C[i0*f + a] = g(T[i0*f + a]) }
//                                                    } }
//
// The consumer takes over the producer's guards over the loops down to `loop`. It may be a
// reduction over all of what is written there, as of the parts that RFactor made; its
// initialisation moves along.
struct ReverseComputeAt {
  std::string block;
  LoopRef loop;
  auto Fields() { return std::tie(block, loop); }
};

// Refused: a producer of an output; one of several writers of its buffer but the initialisation;
// indices that are not just the block's spatial variables; a part of a reduction that several loops
// make; a reduction that shares a loop with another variable; a reader that is not under the loop;
// a region that is not affine; a buffer that the producer reads and that does not live at the loop.
StatusOr<Constraints> CheckComputeAt(const Function& fn, const ComputeAt& step);
Function ApplyComputeAt(const Function& fn, const ComputeAt& step);

// Refused, in addition to the corresponding cases above: a consumer that reduces over more than
// what is written under the loop; a loop at or inside a loop of the producer's reduction; a
// producer whose inner loops do not cover their box (an inexact split inside the loop: place first,
// then split).
StatusOr<Constraints> CheckReverseComputeAt(const Function& fn, const ReverseComputeAt& step);
Function ApplyReverseComputeAt(const Function& fn, const ReverseComputeAt& step);

}  // namespace tcc
