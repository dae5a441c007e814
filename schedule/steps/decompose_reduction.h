#pragma once

#include "schedule/analysis/constraint.h"
#include "schedule/analysis/loop_tree.h"

namespace tcc {

// The initialisation of a reduction becomes a block of its own, before `loop`.
//
//   for i { for k { for j { C[i,j] += .. } } }   -->   for i { for j { block mm.init: C[i,j] = 0 }
//     (loop = mm/k)                                            for k { for j { C[i,j] += .. } } }
//
// The new nest has copies of the loops from `loop` inwards that bind spatial variables, keyed
// "mm.init/j", and the guards that speak of them alone. Of a reduction that is decomposed already,
// as RFactor leaves it, the initialisation moves there from where it was.
struct DecomposeReduction {
  std::string block;
  LoopRef loop;
  auto Fields() { return std::tie(block, loop); }
};

// Refused: a block that is no reduction, or is decomposed with an initialisation that does more,
// has loops that are not serial or hold other blocks, or whose values another block uses before the
// reduction does; a loop that is not round the block, or
// stands inside a loop of the reduction; a loop inside it that feeds spatial and reduce variables
// alike.
StatusOr<Constraints> CheckDecomposeReduction(const Function& fn, const DecomposeReduction& step);
Function ApplyDecomposeReduction(const Function& fn, const DecomposeReduction& step);

}  // namespace tcc
