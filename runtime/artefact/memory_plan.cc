#include "runtime/artefact/memory_plan.h"

#include <algorithm>
#include <numeric>
#include <utility>

#include "support/check.h"
#include "support/integer_division.h"

namespace tcc {
namespace {

bool InUseTogether(const LiveBuffer& a, const LiveBuffer& b) {
  return a.first <= b.last && b.first <= a.last;
}

struct Range {
  int64_t begin, end;
};

// The aligned start of the smallest gap between `taken` that holds `bytes`, or the end of them all.
int64_t BestFit(std::vector<Range> taken, int64_t bytes, int64_t alignment) {
  std::ranges::sort(taken, {}, &Range::begin);
  int64_t end = 0, best = -1, best_gap = 0;
  for (const Range& range : taken) {
    int64_t gap = range.begin - end;
    if (gap >= bytes && (best < 0 || gap < best_gap)) {
      best = end;
      best_gap = gap;
    }
    end = std::max(end, RoundUp(range.end, alignment));
  }
  return best >= 0 ? best : end;
}

MemoryPlan PlaceInOrder(std::span<const LiveBuffer> buffers, const std::vector<size_t>& order) {
  MemoryPlan plan;
  plan.offsets.assign(buffers.size(), 0);
  std::vector<size_t> placed;
  for (size_t i : order) {
    int64_t bytes = RoundUp(buffers[i].bytes, kArenaAlignment);
    if (bytes == 0) continue;
    std::vector<Range> taken;
    for (size_t other : placed) {
      if (!InUseTogether(buffers[i], buffers[other])) continue;
      int64_t begin = plan.offsets[other];
      taken.push_back({begin, begin + RoundUp(buffers[other].bytes, kArenaAlignment)});
    }
    plan.offsets[i] = BestFit(std::move(taken), bytes, buffers[i].alignment);
    plan.arena_bytes = std::max(plan.arena_bytes, plan.offsets[i] + bytes);
    placed.push_back(i);
  }
  return plan;
}

}  // namespace

MemoryPlan PlanMemory(std::span<const LiveBuffer> buffers) {
  for (const LiveBuffer& buffer : buffers) {
    TCC_CHECK(buffer.bytes >= 0 && buffer.first <= buffer.last)
        << buffer.bytes << " bytes in [" << buffer.first << ", " << buffer.last << "]";
  }
  std::vector<size_t> by_size(buffers.size());
  std::iota(by_size.begin(), by_size.end(), 0);
  std::vector<size_t> by_area = by_size;
  // Negative, so that the largest come first; the index decides between equals.
  std::ranges::sort(by_size, {}, [&](size_t i) { return std::pair(-buffers[i].bytes, i); });
  std::ranges::sort(by_area, {}, [&](size_t i) {
    const LiveBuffer& buffer = buffers[i];
    double lifetime = static_cast<double>(buffer.last - buffer.first + 1);
    return std::pair(-static_cast<double>(buffer.bytes) * lifetime, i);
  });
  MemoryPlan first = PlaceInOrder(buffers, by_size), second = PlaceInOrder(buffers, by_area);
  return second.arena_bytes < first.arena_bytes ? second : first;
}

}  // namespace tcc
