#pragma once

#include <algorithm>
#include <vector>

namespace tcc {

// Returns the median, the upper one of two in the middle. Expects values, none of them NaN.
inline double MedianOf(std::vector<double> values) {
  std::ranges::nth_element(values, values.begin() + std::ssize(values) / 2);
  return values[values.size() / 2];
}

}  // namespace tcc
