#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "ir/expr/expr.h"

namespace tcc {

using Matrix = std::vector<std::vector<double>>;

// The transforms of F(m, 3) in one dimension: m outputs = A^T ((G taps) * (B^T inputs)), where the
// product is taken element by element.
struct WinogradTransforms {
  Matrix a, b, g;       // A^T, B^T and G
  int64_t divisor = 1;  // of the outputs, for a G that was multiplied to have whole numbers
  int64_t tile() const { return static_cast<int64_t>(a.size()); }    // outputs per side
  int64_t window() const { return static_cast<int64_t>(b.size()); }  // inputs per side
};

const WinogradTransforms& TransformsOfTwo();
// The same with whole numbers: G is doubled, in both dimensions of a window.
const WinogradTransforms& WholeTransformsOfTwo();
// At the points 0, +-5/8, +-3/2 and infinity: numbers of f32 that are exact and of like sizes.
// The largest errors are about a quarter of those at 0, +-1, +-2 and infinity.
const WinogradTransforms& TransformsOfFour();

// Returns matrix[row][column], in the type.
Expr EntryOf(const Matrix& matrix, DType type, const Expr& row, const Expr& column);

// Returns the sum over k of matrix[row][k] * at(k). An entry of 0 has no term, since 0 * inf would
// be NaN.
Expr RowTimes(const Matrix& matrix, const Expr& row, const std::function<Expr(const Expr&)>& at);

}  // namespace tcc
