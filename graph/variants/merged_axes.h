#pragma once

#include <optional>

#include "ir/expr/tensor_expr.h"

namespace tcc {

// The program with neighbouring dimensions made one, where a sum of products goes over them
// together and one of its factors does not: rows and columns of an image under a convolution of one
// tap, batch and rows of a product with one matrix of weights. Tiles of the rows then cross from
// one to the next, so that 7 rows of 7 points leave one odd tile and not seven.
//
//   out[n, y, x, o] = sum over c of in[n, y, x, c] * w[c, o]   -->
//   out[n, yx, o] = sum over c of in[n, yx, c] * w[c, o]
//
// Every stage has to go over the two dimensions of its buffers by the same two axes in full.
// Buffers keep their elements in place. nullopt: there are no such dimensions.
std::optional<TensorProgram> MergedAxesVariant(const TensorProgram& program);

}  // namespace tcc
