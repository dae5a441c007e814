#pragma once

#include <cstdint>

namespace tcc {

// A tile register holds 16 rows of 16 words.
inline constexpr int64_t kAmxTile = 16;

// Asks the system for the tile registers of AMX, for all threads of this process, and returns
// whether the CPU has tdpbusd and tdpbf16ps and the system allows them. Linux grants the registers
// only to processes that ask, since they make a thread's saved state 8 KiB larger.
bool RequestAmx();

}  // namespace tcc
