#pragma once

#include <optional>
#include <vector>

#include "ir/expr/tensor_expr.h"

namespace tcc {

// The forms of a computation over Shape variables of their own, n0, n1, .. All forms have all of
// them as `shape_vars`.
struct OwnShapes {
  std::vector<TensorProgram> forms;
  std::vector<Expr> arguments;  // of the variables, over the graph's
  // The variables that the forms take for 1 or more although their arguments may be 0.
  std::vector<size_t> may_be_zero = {};
};

// Replaces the formulas of free extents by variables, in order of position: extents of buffers,
// then of axes. Copies of a formula become the same variable wherever they occur, and a product of
// others and a number stays one; so the relations of extents that variants ask for are kept, and
// layers that compute the same from other formulas share their kernels.
//
//   x: [B, S], past: [B, P], y: [B, P + S], rows: [B * S]   -->
//   x: [n0, n1], past: [n0, n2], y: [n0, n3], rows: [n0 * n1]     with n3 = P + S
//
// A variable's low end is 1 or 2, and its high end is rounded up to a power of 4, unless that makes
// a buffer too large for 32-bit indices; so kernels of equal forms are equal. An extent that may be
// 0 is taken for 1 or more and listed in `may_be_zero`. Where there are more than two of them,
// their variables begin at 0 instead. Usual values are at least 2 and differ from each other where
// ranges allow, so that a schedule for the usual sizes does not take two extents for the same.
//
// Expects forms of the same computation. Forms without free extents stay as they are.
OwnShapes WithOwnShapes(std::vector<TensorProgram> forms);

// Returns the program where these of its variables are 0, over its other ones: without stages that
// have no point, and with the identity as the result of a reduction over no point. Inputs and
// outputs stay, in their order. nullopt: no output has an element.
std::optional<TensorProgram> AtZero(TensorProgram program, const std::vector<Var>& zeros);

}  // namespace tcc
