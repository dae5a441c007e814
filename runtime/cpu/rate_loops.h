#pragma once

#include <cstdint>

// Loops that keep a unit of the CPU busy, by the widest vectors that this CPU has.
namespace tcc {

// Runs independent chains of fused multiply-adds. Returns the number of f32 operations, two each; 0
// where this CPU has no FMA.
double RunFmaChains();

// Reads the bytes, a multiple of kReadStep at a multiple of 64.
void ReadInVectors(const uint8_t* bytes, int64_t count);
inline constexpr int64_t kReadStep = 512;  // bytes

}  // namespace tcc
