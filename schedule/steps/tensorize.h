#pragma once

#include "schedule/analysis/constraint.h"
#include "schedule/analysis/loop_tree.h"

namespace tcc {

// Replaces a nest by a call of the tensor intrinsic (tensor_intrinsics.h) with the same meaning.
//
//   for i1 in 0..16 { for j1 in 0..8 { for k1 in 0..16 {
//     block mm: C_l[i, j] += f32(A_s[i, k]) * f32(B_s[k, j]) } } }
//   -->
//   intrinsic mma_m16n8k16_f16_f32 { for i1 .. }
//
// The nest stays as the call's body, for the interpreter and for backends without the instruction.
// Operands that are fragments (buffers of a warp; ir/expr/warp_instruction.h) get the layout that
// the instruction wants, and the loops get the meaning's order.
struct Tensorize {
  LoopRef loop;  // the outermost of the nest
  std::string intrinsic;
  auto Fields() { return std::tie(loop, intrinsic); }
};

// Refused, naming the difference: a nest that is not one chain of serial loops around one
// decomposed reduction; other loops, extents, types, combiner or accesses than the meaning's
// (operands may have further dimensions that do not depend on the loops, and the loops any order);
// a predicate; a tile that is not always whole; for a warp instruction, a nest inside a loop over
// lanes, a free extent, an operand that is no fragment or has another layout. Constraints, for free
// sizes: extents are the intrinsic's, and tiles divide the domain evenly.
StatusOr<Constraints> CheckTensorize(const Function& fn, const Tensorize& step);
Function ApplyTensorize(const Function& fn, const Tensorize& step);

}  // namespace tcc
