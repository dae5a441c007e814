#pragma once

#include <string>
#include <vector>

#include "ir/expr/function.h"

namespace tcc {

// Below so many elements along an axis there is little to turn.
inline constexpr int64_t kMinTurned = 4;

// An operand that lies across a map's last axis, and along another: each line of its memory would
// be fetched once for every element that is taken from it.
struct TurnedOperand {
  std::string buffer;
  DType dtype;
  size_t row_dim = 0;     // the dimension that the other axis picks
  size_t column_dim = 0;  // and the one that the last axis picks
};

// The operands of a map of known extents that lie along axis `row` and across the last one.
std::vector<TurnedOperand> TurnedAlong(const Function& fn, const Block& block, size_t row);

}  // namespace tcc
