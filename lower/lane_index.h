#pragma once

#include <optional>

#include "ir/expr/expr.h"

namespace tcc {

// A vector index whose lane l is base + l * stride.
struct LaneIndex {
  Expr base;  // scalar
  int64_t stride = 0;
};

// Matches sums and differences of Ramps and Broadcasts, and their products with a scalar. Returns
// nullopt if the lanes are not evenly spaced or the stride is not constant.
std::optional<LaneIndex> MatchLaneIndex(const Expr& index);

}  // namespace tcc
