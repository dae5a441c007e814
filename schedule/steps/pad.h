#pragma once

#include "schedule/analysis/constraint.h"
#include "schedule/analysis/loop_tree.h"

namespace tcc {

// A block runs over a multiple of something along one of its variables, on copies of its operands
// that hold nothing of consequence outside, and into a copy of its result.
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
  std::string axis;  // a variable of the block, whose loop is as the operator means it
  Expr multiple;     // >= 1; may hold Tile variables
  auto Fields() { return std::tie(block, axis, multiple); }
};

// Refused: an unknown block or variable; a loop that was changed already; an operand that is no
// copy, is placed or laid out already, or is read along the axis by more than the variable itself;
// a result that is a parameter; an input of a reduction that no filling makes the identity; a
// divisor that comes from an operand; a multiple that is provably below 1.
StatusOr<Constraints> CheckPad(const Function& fn, const Pad& step);
Function ApplyPad(const Function& fn, const Pad& step);

}  // namespace tcc
