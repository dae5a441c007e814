#pragma once

#include <optional>

#include "ir/expr/tensor_expr.h"

namespace tcc {

// Returns the program with its convolution reading a zero-padded input, instead of testing at each
// tap whether it lies inside:
//
//   padded[.., i, ..] = input[.., i + low, ..] where that is inside, else 0
//   out = sum of padded[..] * weight[..]
//
// A schedule may compute the part of `padded` that a tile reads where the tile is staged, so that
// `padded` never exists as a whole. Returns nullopt if no stage is a sum of products with a factor
// that is a buffer element and a predicate that keeps this element inside, or if extents are not
// known.
//
// A non-finite weight spoils results whose window reaches outside the input.
std::optional<TensorProgram> ZeroPaddingVariant(const TensorProgram& program);

// Returns the same for a pool, which reduces the elements themselves: the input is padded with the
// reduction's identity (0 for a sum, the lowest value for a maximum), which changes no result.
// Returns nullopt if no stage is such a reduction.
std::optional<TensorProgram> PaddedPoolVariant(const TensorProgram& program);

}  // namespace tcc
