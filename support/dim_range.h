#pragma once

#include <cstdint>
#include <optional>

namespace tcc {

// The extents that a free dimension may have, and the one that kernels are scheduled for: any may
// come, this one is the fastest. The import chooses what is left out.
struct DimRange {
  std::optional<int64_t> low = {};
  std::optional<int64_t> high = {};
  std::optional<int64_t> usual = {};

  friend bool operator==(const DimRange&, const DimRange&) = default;
};

// Stands in a given shape for an extent that stays as the model has it: "?x3".
inline constexpr int64_t kOpenExtent = -1;

}  // namespace tcc
