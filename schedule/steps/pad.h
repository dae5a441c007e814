#pragma once

#include "schedule/analysis/constraint.h"
#include "schedule/analysis/loop_tree.h"

namespace tcc {

// Rounds up a block's extent along one of its variables to a multiple. The block then reads padded
// copies of its operands, whose padding does not affect the result, and writes a copy of its
// result.
//
//   for a in 0..E { A_s[a] = A[a] }               for a in 0..P { A_s[a] = select(a < E, A[a], 0) }
//   for i in 0..E { mm: C_l[i] = g(A_s[i]) } -->  for i in 0..P { mm: C_l[i] = g(A_s[i]) }
//   for a in 0..E { C[a] = C_l[a] }               for a in 0..E { C[a] = C_l[a] }
//
// P is E rounded up. Along a reduce variable the copies are filled so that the padded instances
// combine the identity: with 0 for a sum of products, -inf for a maximum, 1 for a product.
// CacheRead and CacheWrite make the copies.
struct Pad {
  std::string block;
  std::string axis;  // a variable of the block whose loop no step has changed
  Expr multiple;     // >= 1; may hold Tile variables
  auto Fields() { return std::tie(block, axis, multiple); }
};

// Refused: an unknown block or variable; a loop that was changed already; an operand that is no
// copy, is placed or has a layout already, or whose index along the axis is more than the variable
// itself; a result that is a parameter; an input of a reduction that no filling turns into the
// identity; a divisor that comes from an operand; a multiple that is provably below 1.
StatusOr<Constraints> CheckPad(const Function& fn, const Pad& step);
Function ApplyPad(const Function& fn, const Pad& step);

}  // namespace tcc
