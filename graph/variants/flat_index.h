#pragma once

#include "ir/expr/substitute.h"
#include "ir/expr/tensor_expr.h"

namespace tcc {

// One number for the points of several axes of known extents, the last one varying fastest.
class FlatIndex {
 public:
  explicit FlatIndex(std::vector<Axis> axes);

  // How many points there are.
  int64_t extent() const { return extent_; }
  // The number of the point at the axes' own variables.
  Expr NumberOf() const;
  // Adds where point `number` stands on each axis, for the axis's variable.
  void AddPlaces(const Expr& number, Substitution& places) const;

 private:
  std::vector<Axis> axes_;
  std::vector<int64_t> strides_;
  int64_t extent_ = 1;
};

}  // namespace tcc
