#pragma once

#include <string>
#include <vector>

#include "ir/expr/function.h"

namespace tcc {

// A transposed operand: contiguous along another axis of a map, not the last one. Each line of its
// memory would be fetched once per element taken from it.
struct TransposedOperand {
  std::string buffer;
  DType dtype;
  size_t row_dim = 0;     // the dimension that the other axis indexes
  size_t column_dim = 0;  // the dimension that the last axis indexes
};

// Returns the operands of a map of known extents that are contiguous along axis `row` and strided
// along the last one.
std::vector<TransposedOperand> TransposedAlong(const Function& fn, const Block& block, size_t row);

}  // namespace tcc
