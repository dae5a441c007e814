#pragma once

#include <functional>
#include <vector>

#include "graph/ops/node_lowering.h"

namespace tcc {

// The rows of a normalisation: the elements of one row are normalised together.
struct Rows {
  std::vector<Expr> shape;  // the shape of the set of rows
  std::vector<Expr> inner;  // the shape of one row's elements; at least one dimension
  // Returns one element, in the type of the computation.
  std::function<Expr(const std::vector<Expr>& row, const std::vector<Expr>& element)> element;
};

// Computes the mean and variance (over n, not n - 1) of rows in two passes; the second one takes
// two sums:
//   shift = sum x / n
//   error = sum (x - shift) / n      variance = sum (x - shift)^2 / n - error^2
// The shift has the rounding error of a long sum, which exceeds the deviation where the mean is
// large. The second pass measures it as `error` and corrects for it (Chan, Golub and LeVeque,
// Algorithms for computing the sample variance, 1983, the corrected two-pass algorithm). Welford's
// one pass is as accurate but divides for each element.
class Moments {
 public:
  // Appends the stages that reduce the rows.
  Moments(NodeLowering& node, const Rows& rows, DType type);

  Expr Mean(const std::vector<Expr>& row) const;
  Expr Variance(const std::vector<Expr>& row) const;
  // Returns value - mean, without rounding the mean first.
  Expr Centered(const Expr& value, const std::vector<Expr>& row) const;

 private:
  Expr Shift(const std::vector<Expr>& row) const;
  Expr Error(const std::vector<Expr>& row) const;

  const NodeLowering& node_;
  std::vector<Expr> inner_;
  StoredBuffer sum_;
  StoredBuffer errors_;   // the sum of differences from the shift
  StoredBuffer squares_;  // the sum of their squares
};

// Computes the mean of the squares of each row's elements.
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
