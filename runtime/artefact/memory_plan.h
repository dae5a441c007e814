#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "support/device_profile.h"

// Places buffers with live ranges over a plan in one arena.
namespace tcc {

// The alignment of buffers: a cache line, which is also the widest vector.
inline constexpr int64_t kArenaAlignment = kCacheLineBytes;

// A buffer that is live from instruction `first` through `last`, both included.
struct LiveBuffer {
  int64_t bytes = 0;
  int64_t first = 0;
  int64_t last = 0;
  int64_t alignment = kArenaAlignment;  // of the offset, a multiple of kArenaAlignment
};

struct MemoryPlan {
  std::vector<int64_t> offsets;  // of the buffers, in their order; multiples of their alignments
  int64_t arena_bytes = 0;
};

// Plans an arena in which buffers that are live at the same time do not overlap. Puts each buffer,
// the larger first, into the tightest gap left by those placed before it (Pisarchyk and Lee 2020,
// "greedy by size", with best fit). Then tries a second order, by bytes times lifetime, and takes
// the smaller arena. Deterministic. Expects bytes >= 0 and first <= last.
MemoryPlan PlanMemory(std::span<const LiveBuffer> buffers);

}  // namespace tcc
