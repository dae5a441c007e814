#pragma once

#include <cstdint>
#include <span>

#include "support/status.h"

namespace tcc {

// The limits of every tensor of a model. They keep each product of dimensions, each offset and each
// byte count within 64 bits, and indices within 32.
inline constexpr int64_t kMaxRank = 16;
inline constexpr int64_t kMaxExtent = (int64_t{1} << 31) - 1;
inline constexpr int64_t kMaxElements = int64_t{1} << 40;  // dimensions of 0 do not count

// Fails with InvalidArgument if a dimension is negative or a limit is exceeded, and names the
// limit.
Status CheckExtents(std::span<const int64_t> shape);

}  // namespace tcc
