#pragma once

#include <cstdint>
#include <type_traits>

namespace tcc {

// Return the quotient rounded down, and rounded up. Expect b != 0, and -a to fit where b == -1.
constexpr int64_t FloorDivision(int64_t a, int64_t b) {
  return a / b - (a % b != 0 && (a < 0) != (b < 0));
}
constexpr int64_t CeilDivision(int64_t a, int64_t b) {
  return a / b + (a % b != 0 && (a < 0) == (b < 0));
}

// Returns the least multiple of `to` that is at least `value`; expects value >= 0 and to > 0.
template <typename Int>
constexpr Int RoundUp(Int value, std::type_identity_t<Int> to) {
  return (value + to - 1) / to * to;
}

}  // namespace tcc
