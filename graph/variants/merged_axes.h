#pragma once

#include <optional>

#include "ir/expr/tensor_expr.h"

namespace tcc {

// Returns the program with neighbouring dimensions merged where a sum of products iterates over
// both and only one of its factors depends on them: rows and columns of an image under a
// convolution of one tap, batch and rows of a product with one weight matrix. Tiles then cross from
// one row to the next, so that 7 rows of 7 points leave one odd tile instead of seven.
//
//   out[n, y, x, o] = sum over c of in[n, y, x, c] * w[c, o]   -->
//   out[n, yx, o] = sum over c of in[n, yx, c] * w[c, o]
//
// Every stage must iterate over the two dimensions of its buffers by the same two axes in full. The
// elements of buffers stay in place. Returns nullopt if there are no such dimensions.
std::optional<TensorProgram> MergedAxesVariant(const TensorProgram& program);

}  // namespace tcc
