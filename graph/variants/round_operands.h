#pragma once

#include <optional>

#include "ir/expr/tensor_expr.h"
#include "support/numeric_mode.h"

namespace tcc {

// Whether some stage is a contraction of f32 operands: a sum of products of two different values.
// That the program is one of a contraction, not a reduction (a sum of squares), is the caller's to
// know.
bool HasF32Contraction(const TensorProgram& program);

// The program with the operands of such contractions rounded as `mode` says. To a narrower type:
//
//   x_f16[i, k] = f16(x[i, k])                    a map of its own; of a constant, when linked
//   out = sum of f32(x_f16[i, k]) * f32(w_f16[k, j])
//
// An intermediate that only contractions read, the columns of implicit GEMM, say, is itself stored
// in that type; what it can hold without loss is not touched. Otherwise in place:
//
//   tf32:    out = sum of tf32(x) * tf32(w)
//   3xtf32:  out = sum of (x0 * w1 + x1 * w0) + x0 * w0,  x0 = tf32(x), x1 = tf32(x - x0)
//            of what tf32 would make infinite, x0 is the largest number of tf32 with its sign; of
//            infinity it is 1 or -1, and x1 infinity
//
// The error of an output is within RowOf(mode).product_error * M of the strict one's, M the sum of
// the absolute terms. nullopt for strict, and where there is nothing to round.
std::optional<TensorProgram> RoundOperands(const TensorProgram& program, NumericMode mode);

}  // namespace tcc
