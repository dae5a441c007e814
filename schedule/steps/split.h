#pragma once

#include "schedule/analysis/constraint.h"
#include "schedule/analysis/loop_tree.h"
#include "support/status.h"

namespace tcc {

// Splits one loop into factors.size() + 1.
//
//   for i in 0..E             for i0 in 0..ceildiv(E, f1*f2)      key.0
//     S(i)            -->       for i1 in 0..f1                    key.1
//                                 for i2 in 0..f2                  key.2
//                                   S(i0*(f1*f2) + i1*f2 + i2)     guard ... < E on the blocks
//                                   below
//
// The guard is always added, or free and known factors would give different programs;
// DropPredicates removes it once sizes are known.
struct Split {
  LoopRef loop;
  std::vector<Expr> factors;  // outermost first; each >= 1; may hold Tile variables
  auto Fields() { return std::tie(loop, factors); }
};

// Refused: a loop that is not serial; no factor; a factor that is provably below 1.
// Constraint: 1 - factor <= 0 for every factor that is not known.
StatusOr<Constraints> CheckSplit(const Function& fn, const Split& step);

// Expects CheckSplit to have agreed, as every Apply does.
Function ApplySplit(const Function& fn, const Split& step);

}  // namespace tcc
