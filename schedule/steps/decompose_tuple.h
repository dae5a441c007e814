#pragma once

#include "schedule/analysis/constraint.h"
#include "schedule/analysis/loop_tree.h"

namespace tcc {

// Turns a reduction to a tuple whose elements differ in their axes into one block per group of
// elements with the same axes, one after the other in the innermost loop of the reduction. Groups
// with fewer axes come first and save the old values that the others read.
//
//   for i { for d { for t {                          for i {
//     block core: (m[i], l[i], acc[i, d])     -->      block core.0.init: m[i] = -inf, l[i] = 0
//       combined with (s[i, t], 1, v[t, d])            for d { block core.init: acc[i, d] = 0 }
//   } } }                                              for t { allocate core.old0 {
//                                                        block core.0: core.old0[i] = m[i]
//                                                                      m[i] = .., l[i] = ..
//                                                        for d { block core: acc[i, d] = .. } } } }
//
// The loops of an axis that some outputs lack (d) move inside the reduction's; each group gets
// copies of the loops further in. The blocks' reduce variables are in order (IterKind).
struct DecomposeTuple {
  std::string block;
  auto Fields() { return std::tie(block); }
};

// Refused: a block that is no reduction, is decomposed or whose outputs have the same axes; a loop
// of the reduction, or of an axis that some outputs lack, that holds other blocks, is not serial or
// feeds other axes too; axes of one group that are not among those of the next; an element that
// depends on one with more axes; a name in use.
StatusOr<Constraints> CheckDecomposeTuple(const Function& fn, const DecomposeTuple& step);
Function ApplyDecomposeTuple(const Function& fn, const DecomposeTuple& step);

}  // namespace tcc
