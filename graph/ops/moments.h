#pragma once

#include <functional>
#include <vector>

#include "graph/ops/node_lowering.h"

namespace tcc {

// What is normalised together: for each row its elements.
struct Rows {
  std::vector<Expr> shape;  // of the rows
  std::vector<Expr> inner;  // of the elements of one row; at least one dimension
  // One element, in the type of the computation.
  std::function<Expr(const std::vector<Expr>& row, const std::vector<Expr>& element)> element;
};

// Mean and variance (over n, not n - 1) of rows, computed in two passes (of which the second is two
// sums):
//   shift = sum x / n
//   error = sum (x - shift) / n      variance = sum (x - shift)^2 / n - error^2
// The shift is off by the rounding of a long sum, by more than the deviation where the mean is
// large; the second pass sees that as `error` and takes it out again (Chan, Golub and LeVeque,
// Algorithms for computing the sample variance, 1983, the corrected two-pass algorithm). Welford's
// one pass is as exact but divides for each element.
class Moments {
 public:
  // Appends the stages that reduce the rows.
  Moments(NodeLowering& node, const Rows& rows, DType type);

  Expr Mean(const std::vector<Expr>& row) const;
  Expr Variance(const std::vector<Expr>& row) const;
  // value - mean, without rounding the mean first.
  Expr Centered(const Expr& value, const std::vector<Expr>& row) const;

 private:
  Expr Shift(const std::vector<Expr>& row) const;
  Expr Error(const std::vector<Expr>& row) const;

  const NodeLowering& node_;
  std::vector<Expr> inner_;
  StoredBuffer sum_;
  StoredBuffer errors_;   // sum of differences from the shift
  StoredBuffer squares_;  // sum of their squares
};

// The mean of the squares of each row's elements.
class MeanSquare {
 public:
  MeanSquare(NodeLowering& node, const Rows& rows, DType type);
  Expr At(const std::vector<Expr>& row) const;

 private:
  const NodeLowering& node_;
  std::vector<Expr> inner_;
  StoredBuffer sum_;
};

}  // namespace tcc
