#pragma once

#include "schedule/analysis/constraint.h"
#include "schedule/analysis/loop_tree.h"

namespace tcc {

// A nest of loops round one block becomes one block, with a variable for each loop further out that
// the nest depends on.
//
//   for i0 in 0..4 { for k0 in 0..8 {         for i0 in 0..4 { for k0 in 0..8 {
//     for i1 in 0..16 { for k1 in 0..4 {        block mm_o(i0: spatial 4 = i0, k0: reduce 8 = k0) {
//       block mm(i: spatial 64 = i0*16 + i1,      for i1 in 0..16 { for k1 in 0..4 {
//                k: reduce 32 = k0*4 + k1)  -->     block mm(i: spatial 64 = i0*16 + i1,
//   } } } }                                                  k: reduce 32 = k0*4 + k1)
//                                               } }
//   (loop = mm/i.1, name = mm_o)              } } }
//
// Steps then see one block: steps on the loops outside, CacheRead for it, ComputeAt and pipelines
// around it. Loops inside may still be split, fused, reordered, unrolled and vectorized among
// themselves, and turned into an intrinsic; other steps cannot reach the block inside and its
// instances (inside_block.h). The pass UnnestBlocks removes the outer block again.
struct Blockize {
  LoopRef loop;  // the outermost of the nest
  std::string name;
  auto Fields() { return std::tie(loop, name); }
};

// Refused: a nest that is not one chain of serial loops around one block; a nest that is inside a
// block or an intrinsic already; a loop around it that feeds the block's reduction and does not run
// in order; a name in use.
StatusOr<Constraints> CheckBlockize(const Function& fn, const Blockize& step);
Function ApplyBlockize(const Function& fn, const Blockize& step);

}  // namespace tcc
