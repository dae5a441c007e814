#pragma once

#include <algorithm>
#include <cmath>

// The loss of predictions of ln seconds, for training and fitting.
namespace tcc {

// The point where Huber's loss turns from a square into a line.
inline constexpr double kHuber = 0.5;

inline double HuberLoss(double off) {
  double size = std::abs(off);
  return size <= kHuber ? off * off / 2 : kHuber * (size - kHuber / 2);
}
inline double HuberSlope(double off) {
  return std::clamp(off, -kHuber, kHuber);
}

// Returns the weight of a point. `speed` is its task's best time over its own; `precise` is false
// if it was timed by one run.
inline double PointWeight(double speed, bool precise) {
  double weight = std::sqrt(std::clamp(speed, 0.05, 1.0));
  return precise ? weight : weight / 3;
}

}  // namespace tcc
