#pragma once

#include <cstdint>
#include <span>

#include "support/status.h"

namespace tcc {

// What every tensor of a model stays below, so that no product of some of its dimensions, no offset
// and no count of bytes overflows 64 bits, and indices fit 32.
inline constexpr int64_t kMaxRank = 16;
inline constexpr int64_t kMaxExtent = (int64_t{1} << 31) - 1;
inline constexpr int64_t kMaxElements = int64_t{1} << 40;  // dimensions of 0 left out of the count

// InvalidArgument, saying which of the three limits, if a dimension is negative or one is exceeded.
Status CheckExtents(std::span<const int64_t> shape);

}  // namespace tcc
