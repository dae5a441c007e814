#pragma once

#include <algorithm>
#include <cstdint>

namespace tcc {

// A device's last cache, which is to be cold, and its memory.
struct CacheAndMemory {
  int64_t cache_bytes = 0, memory_bytes = 0;
};

// Returns how many sets of operands, `set_bytes` each, fill the cache twice, so that no run finds
// the data of the previous run there; fewer if the memory would not do, and at most 64: more tell
// nothing new.
inline int64_t CountColdSets(int64_t set_bytes, const CacheAndMemory& device) {
  constexpr int64_t kMaxSets = 64;
  constexpr int64_t kMemoryShare = 4;  // 1 / kMemoryShare of the memory is for all sets
  if (set_bytes == 0) return 1;
  const int64_t room = std::max<int64_t>(1, device.memory_bytes / kMemoryShare / set_bytes);
  return std::min({2 * device.cache_bytes / set_bytes + 1, room, kMaxSets});
}

}  // namespace tcc
