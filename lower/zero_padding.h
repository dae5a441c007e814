#pragma once

#include <optional>

#include "ir/tensor_expr.h"

namespace tcc {

// The program with its convolution reading an input that zeros surround, in place of asking at each
// tap whether it lies inside:
//
//   padded[.., i, ..] = input[.., i + low, ..] where that is inside, else 0
//   out = sum of padded[..] * weight[..]
//
// A schedule may make what a tile reads of `padded` where the tile is staged, so that it never
// exists as a whole. nullopt where no stage is a sum of products of which one factor is an element
// of a buffer and whose predicate keeps that element inside, or extents are not known.
//
// A weight that is not finite spoils results whose window reaches outside the input.
std::optional<TensorProgram> ZeroPaddingVariant(const TensorProgram& program);

}  // namespace tcc
