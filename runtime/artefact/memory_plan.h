#pragma once

#include <cstdint>
#include <span>
#include <vector>

// Places for buffers that live during parts of a plan in one arena.
namespace tcc {

// Memory is aligned to a cache line, which is also the widest vector.
inline constexpr int64_t kArenaAlignment = 64;

// In use from instruction `first` through `last`, both included.
struct LiveBuffer {
  int64_t bytes = 0;
  int64_t first = 0;
  int64_t last = 0;
};

struct MemoryPlan {
  std::vector<int64_t> offsets;  // of the buffers, in their order; multiples of kArenaAlignment
  int64_t arena_bytes = 0;
};

// Buffers that are in use at the same time do not overlap. Each is put, the larger first, into
// the tightest gap left by those placed before it (Pisarchyk and Lee 2020, "greedy by size", with
// best fit); a second order, by bytes times lifetime, is tried and the smaller arena taken.
// Deterministic. Expects bytes >= 0 and first <= last.
MemoryPlan PlanMemory(std::span<const LiveBuffer> buffers);

// No plan can do with less: the most bytes in use at once, each buffer rounded up.
int64_t ArenaLowerBound(std::span<const LiveBuffer> buffers);

}  // namespace tcc
