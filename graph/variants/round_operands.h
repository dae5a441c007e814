#pragma once

#include <optional>

#include "ir/expr/tensor_expr.h"
#include "support/numeric_mode.h"

namespace tcc {

// Returns whether some stage is a contraction of f32 operands: a sum of products of two different
// values. The caller must know that the program stems from a contraction and not from a reduction
// (a sum of squares).
bool HasF32Contraction(const TensorProgram& program);

// Returns the program with the operands of such contractions rounded as `mode` says. To a narrower
// type:
//
//   x_f16[i, k] = f16(x[i, k])                    a map of its own; of a constant, when linked
//   out = sum of f32(x_f16[i, k]) * f32(w_f16[k, j])
//
// An intermediate that only contractions read, the columns of implicit GEMM, say, is itself stored
// in that type. Operands that the type holds without loss stay. For other modes, operands are
// rounded in place:
//
//   tf32:    out = sum of tf32(x) * tf32(w)
//   3xtf32:  out = sum of (x0 * w1 + x1 * w0) + x0 * w0,  x0 = tf32(x), x1 = tf32(x - x0)
//            where tf32 would overflow, x0 is its largest number with the sign of x; for an
//            infinite x, x0 is 1 or -1, and x1 infinite
//
// The error of an output is within RowOf(mode).product_error * M of the strict one's, M the sum of
// the absolute terms. Returns nullopt for strict, and if there is nothing to round.
std::optional<TensorProgram> RoundOperands(const TensorProgram& program, NumericMode mode);

}  // namespace tcc
