#pragma once

#include <optional>

#include "ir/expr/expr.h"

namespace tcc {

// A vector index whose lane l is base + l * stride.
struct LaneIndex {
  Expr base;  // scalar
  int64_t stride = 0;
};

// Sees through sums, differences and products by a scalar of Ramps and Broadcasts; nullopt where
// the lanes are not evenly spaced or by how much is not constant.
std::optional<LaneIndex> MatchLaneIndex(const Expr& index);

}  // namespace tcc
