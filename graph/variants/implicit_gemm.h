#pragma once

#include <optional>

#include "ir/expr/tensor_expr.h"

namespace tcc {

// Returns the program with its convolution as one matrix product over reindexed operands (implicit
// GEMM): for a sum over r of input(m, r) * weight(r, n), where m and n are the result axes that
// only one factor has,
//
//   columns[p, k] = input at the axes and taps that p and k number, 0 outside
//   matrix[k, o]  = weight at those that k and o number
//   product[p, o] = sum over k of columns[p, k] * matrix[k, o]
//   out[m.., n..] = product[p, o]
//
// A schedule may compute both operands where their tiles are staged, so that they never exist as a
// whole. Returns nullopt if no stage is a sum of products of a window and another factor, if an
// axis is in both factors (groups), or if extents are not known.
//
// Operands that the product widened from a narrower type keep that type.
//
// A non-finite weight spoils results whose window reaches outside the input.
std::optional<TensorProgram> ImplicitGemmVariant(const TensorProgram& program);

}  // namespace tcc
