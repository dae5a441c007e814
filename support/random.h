#pragma once

#include <cstdint>

namespace tcc {

// The only random generator in tcc (SplitMix64: Steele, Lea, Flood 2014). Callers pass it by
// reference. The same seed gives the same numbers on every machine.
class Random {
 public:
  explicit Random(uint64_t seed) : state_(seed) {}

  uint64_t Next() {
    uint64_t z = (state_ += 0x9e3779b97f4a7c15u);
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return z ^ (z >> 31);
  }

  // Draws uniformly from [0, bound); bound >= 1. The bias is below bound / 2^64.
  uint64_t Below(uint64_t bound) {
    return static_cast<uint64_t>((static_cast<unsigned __int128>(Next()) * bound) >> 64);
  }

  // Draws uniformly from [low, high], both ends included.
  int64_t Between(int64_t low, int64_t high) {
    return low + static_cast<int64_t>(Below(static_cast<uint64_t>(high - low) + 1));
  }

  // Draws uniformly from [0, 1).
  double Unit() { return static_cast<double>(Next() >> 11) * 0x1p-53; }

  bool OneIn(uint64_t n) { return Below(n) == 0; }

  // Draws from nearly a normal distribution of mean 0 and deviation 1: a sum of twelve uniforms.
  double Normal() {
    double sum = -6;
    for (int i = 0; i < 12; ++i) sum += Unit();
    return sum;
  }

  // Returns an independent generator for a part of the work.
  Random Fork() { return Random(Next()); }

 private:
  uint64_t state_;
};

}  // namespace tcc
