#pragma once

#include "schedule/analysis/constraint.h"
#include "schedule/analysis/loop_tree.h"

namespace tcc {

// A nest that computes what a tensor intrinsic (tensor_intrinsics.h) means becomes a call of it.
//
//   for i1 in 0..16 { for j1 in 0..8 { for k1 in 0..16 {
//     block mm: C_l[i, j] += f32(A_s[i, k]) * f32(B_s[k, j]) } } }
//   -->
//   intrinsic mma_m16n8k16_f16_f32 { for i1 .. }
//
// The nest stays as the call's body: it is what the interpreter runs, and backends without the
// instruction. Where operands are fragments (buffers of a warp; ir/expr/warp_instruction.h), they
// get the layout that the instruction has them in, and the loops stand in the meaning's order.
struct Tensorize {
  LoopRef loop;  // the outermost of the nest
  std::string intrinsic;
  auto Fields() { return std::tie(loop, intrinsic); }
};

// Refused, with what differs: a nest that is not one chain of serial loops round one decomposed
// reduction; other loops, extents, types, combiner or accesses than the meaning's (operands may
// have further dimensions that stand still, and any dimension order of loops); a predicate; a tile
// that is not always whole; of a warp's instruction a place inside a loop over lanes, a free
// extent, an operand that is no fragment or lies otherwise. Constraints, where sizes are free:
// extents are the intrinsic's, and what the tiles divide, they divide evenly.
StatusOr<Constraints> CheckTensorize(const Function& fn, const Tensorize& step);
Function ApplyTensorize(const Function& fn, const Tensorize& step);

}  // namespace tcc
