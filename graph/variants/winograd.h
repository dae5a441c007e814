#pragma once

#include <optional>

#include "ir/expr/tensor_expr.h"

namespace tcc {

// Returns the program with its convolution computed by Winograd's F(2x2, 3x3): a tile of 2x2
// outputs takes 16 products per channel instead of 36. (A. Lavin, S. Gray: Fast algorithms for
// convolutional neural networks, 2015)
//
//   u[a, b, c, o] = G w G^T    over the taps of the constant weight: a Prepack's work
//   v[a, b, p, c] = B^T x B    over the 4x4 inputs of tile p, zero outside the input
//   m[a, b, p, o] = sum over c of v[a, b, p, c] * u[a, b, c, o]
//   out[n, h, w, o] = A^T m A  at the output's place in its tile
//
// Returns nullopt if no stage is a sum over 3x3 taps and channels of f32 at stride 1, without
// dilation or groups, of an input and a constant parameter, or if its extents are not known.
//
// The transforms amplify rounding errors, which stay within 16 * sqrt(9 C) * eps * M, M the largest
// sum of the absolute terms of an output.
std::optional<TensorProgram> WinogradVariant(const TensorProgram& program);

}  // namespace tcc
