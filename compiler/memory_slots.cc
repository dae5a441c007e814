#include "compiler/memory_slots.h"

#include <algorithm>
#include <numeric>
#include <tuple>

#include "ir/expr/compare.h"
#include "ir/simplify/simplify.h"
#include "support/integer_division.h"

namespace tcc {
namespace {

bool AreLiveTogether(const LiveBuffer& a, const LiveBuffer& b) {
  return a.first <= b.last && b.first <= a.last;
}

// Returns whether `a` is at most `b` at all sizes.
bool IsAtMost(const Expr& a, const Expr& b) {
  return Equal(a, b) || BoundsOf(Simplify(b - a), {}).low >= 0;
}

bool Holds(const MemorySlot& slot, const Expr& bytes) {
  return std::ranges::any_of(slot.sizes, [&](const Expr& size) { return IsAtMost(bytes, size); });
}

void AddTo(MemorySlot& slot, size_t buffer, const Expr& bytes, int64_t usual) {
  slot.members.push_back(buffer);
  slot.usual_bytes = std::max(slot.usual_bytes, usual);
  if (Holds(slot, bytes)) return;
  std::erase_if(slot.sizes, [&](const Expr& size) { return IsAtMost(size, bytes); });
  slot.sizes.push_back(bytes);
}

}  // namespace

std::vector<MemorySlot> AssignSlots(std::span<const FreeBuffer> buffers) {
  std::vector<size_t> order(buffers.size());
  std::iota(order.begin(), order.end(), 0);
  // Negative, so that the largest come first; the index decides between equals.
  std::ranges::sort(order, {}, [&](size_t i) { return std::pair(-buffers[i].live.bytes, i); });
  std::vector<MemorySlot> slots;
  for (size_t i : order) {
    const LiveBuffer& live = buffers[i].live;
    const Expr& bytes = buffers[i].bytes;
    const int64_t usual = RoundUp(live.bytes, kArenaAlignment);
    std::optional<std::tuple<int64_t, bool, size_t>> best;  // waste, may outgrow the slot, slot
    for (size_t s = 0; s < slots.size(); ++s) {
      bool is_free = std::ranges::none_of(slots[s].members, [&](size_t member) {
        return AreLiveTogether(buffers[member].live, live);
      });
      const int64_t waste = slots[s].usual_bytes - usual;
      if (!is_free || (best && waste > std::get<0>(*best))) continue;
      std::tuple fit(waste, !Holds(slots[s], bytes), s);
      if (!best || fit < *best) best = fit;
    }
    if (!best) slots.emplace_back();
    AddTo(best ? slots[std::get<2>(*best)] : slots.back(), i, bytes, usual);
  }
  return slots;
}

}  // namespace tcc
