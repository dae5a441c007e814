#pragma once

#include "ir/expr/substitute.h"
#include "ir/expr/tensor_expr.h"

namespace tcc {

// A numbering of the points of several axes of known extents, the last one varying fastest.
class FlatIndex {
 public:
  explicit FlatIndex(std::vector<Axis> axes);

  // Returns the number of points.
  int64_t extent() const { return extent_; }
  // Returns the number of the point at the axes' own variables.
  Expr NumberOf() const;
  // Adds the position of point `number` on each axis, as a substitution for the axis's variable.
  void AddPlaces(const Expr& number, Substitution& places) const;

 private:
  std::vector<Axis> axes_;
  std::vector<int64_t> strides_;
  int64_t extent_ = 1;
};

}  // namespace tcc
