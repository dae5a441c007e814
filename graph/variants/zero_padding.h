#pragma once

#include <optional>

#include "ir/expr/tensor_expr.h"

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

// The same of a pool, which reduces the elements themselves: the reduction's identity (0 of a sum,
// the lowest of a maximum) surrounds the input, so that any element is still right. nullopt where
// no stage is such a reduction.
std::optional<TensorProgram> PaddedPoolVariant(const TensorProgram& program);

}  // namespace tcc
