#pragma once

#include <optional>

#include "ir/expr/tensor_expr.h"

namespace tcc {

// Returns the program with its convolution computed by Winograd's F(2x2, 3x3): a tile of 2x2
// outputs takes 16 products per channel instead of 36. (A. Lavin, S. Gray: Fast algorithms for
// convolutional neural networks, 2015)
//
//   u[a, b, c, o] = G w G^T    over the taps of the constant weight: a Prepack's work
//   t[a, j, p, c] = B^T x      over the rows of the 4x4 inputs of tile p, zero outside the input
//   v[a, b, p, c] = t B        over their columns
//   m[a, b, p, o] = sum over c of v[a, b, p, c] * u[a, b, c, o]
//   s[d, b, p, o] = A^T m      over the rows
//   out[n, h, w, o] = s A      over the columns, at the output's place in its tile
//
// A third dimension of the window is summed directly, with the channels: u, v and m have its taps
// and places between b and p, as they have the batch.
//
// Returns nullopt if no stage is a sum over 3x3 taps and channels of f32 at stride 1, without
// dilation or groups, of an input and a constant parameter, or if its extents are not known.
//
// The transforms amplify rounding errors, which stay within 16 * sqrt(K) * eps * M, K the number of
// terms of an output and M the largest sum of their absolute values. An input that is not finite
// makes NaN of all outputs of its tiles.
std::optional<TensorProgram> WinogradVariant(const TensorProgram& program);

// Returns whether the variant of the program, if it has one, is expected to take less time on a CPU
// than the direct convolution.
bool SavesByWinograd(const TensorProgram& program);

}  // namespace tcc
