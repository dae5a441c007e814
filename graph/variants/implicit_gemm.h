#pragma once

#include <optional>

#include "ir/expr/tensor_expr.h"

namespace tcc {

// The program with its convolution as one matrix product over reindexed operands (implicit GEMM):
// for a sum over r of input(m, r) * weight(r, n), m and n the axes of the result that only one
// factor has,
//
//   columns[p, k] = input at the axes and taps that p and k number, 0 outside
//   matrix[k, o]  = weight at those that k and o number
//   product[p, o] = sum over k of columns[p, k] * matrix[k, o]
//   out[m.., n..] = product[p, o]
//
// A schedule may compute both operands where their tiles are staged, so that they never exist as a
// whole. nullopt where no stage is a sum of products of a window and something else, where an axis
// is in both factors (groups) or extents are not known.
//
// Operands that were widened from a narrower type for the product stay in that type.
//
// A weight that is not finite spoils results whose window reaches outside the input.
std::optional<TensorProgram> ImplicitGemmVariant(const TensorProgram& program);

}  // namespace tcc
