#pragma once

#include "schedule/analysis/constraint.h"
#include "schedule/analysis/loop_tree.h"

namespace tcc {

// Makes the initialisation of a reduction a block of its own, before `loop`.
//
//   for i { for k { for j { C[i,j] += .. } } }   -->   for i { for j { block mm.init: C[i,j] = 0 }
//     (loop = mm/k)                                            for k { for j { C[i,j] += .. } } }
//
// The new nest has copies of the loops from `loop` inwards that bind spatial variables, keyed
// "mm.init/j", and the guards that use only those loops. If the reduction is decomposed already, as
// RFactor leaves it, its initialisation moves there from where it was.
struct DecomposeReduction {
  std::string block;
  LoopRef loop;
  auto Fields() { return std::tie(block, loop); }
};

// Refused: a block that is no reduction; a decomposed one whose initialisation does more, has loops
// that are not serial or hold other blocks, or writes values that another block uses before the
// reduction does; a loop that does not enclose the block, or is inside a loop of the reduction; a
// loop inside it that feeds both spatial and reduce variables.
StatusOr<Constraints> CheckDecomposeReduction(const Function& fn, const DecomposeReduction& step);
Function ApplyDecomposeReduction(const Function& fn, const DecomposeReduction& step);

}  // namespace tcc
