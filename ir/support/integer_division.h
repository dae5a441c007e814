#pragma once

#include <cstdint>

namespace tcc {

// The quotient rounded down, and rounded up; b != 0, and -a must fit where b == -1.
constexpr int64_t FloorDivision(int64_t a, int64_t b) {
  return a / b - (a % b != 0 && (a < 0) != (b < 0));
}
constexpr int64_t CeilDivision(int64_t a, int64_t b) {
  return a / b + (a % b != 0 && (a < 0) == (b < 0));
}

}  // namespace tcc
