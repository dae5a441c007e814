#pragma once

#include <cstdint>

#include "support/target.h"

// Tiles of words, several numbers each, that one instruction multiplies: n rows by n columns over n
// words.
namespace tcc {

inline constexpr int64_t kAmxTile = 16;  // tdpbusd, tdpbf16ps
inline constexpr int64_t kMmlaTile = 2;  // smmla, usmmla: of bytes

// Returns the edge of the target's tiles, or 0 if it has none. Usdot and smmla are one extension of
// ARM's, i8mm.
inline int64_t WordTileOf(const Target& target) {
  if (target.amx) return kAmxTile;
  return target.arch == CpuArch::kArm64 && target.dots_bytes ? kMmlaTile : 0;
}

// Asks the system for the tile registers of AMX, for all threads of this process, and returns
// whether the CPU has tdpbusd and tdpbf16ps and the system allows them. Linux grants the registers
// only to processes that ask, since they make a thread's saved state 8 KiB larger.
bool RequestAmx();

}  // namespace tcc
