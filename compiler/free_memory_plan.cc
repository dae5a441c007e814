#include "compiler/free_memory_plan.h"

#include <algorithm>
#include <numeric>
#include <unordered_map>

#include "ir/expr/compare.h"
#include "ir/simplify/simplify.h"

namespace tcc {
namespace {

bool AreLiveTogether(const LiveBuffer& a, const LiveBuffer& b) {
  return a.first <= b.last && b.first <= a.last;
}

// Places the buffers of a plan from the bottom up.
class Stack {
 public:
  Stack(std::span<const FreeBuffer> buffers, const MaximumOf& maximum_of)
      : buffers_(buffers), maximum_of_(maximum_of), ends_(buffers.size()) {}

  FreeMemoryPlan Build() {
    FreeMemoryPlan plan;
    plan.offsets.assign(buffers_.size(), 0);
    for (size_t buffer : BottomUp()) {
      std::vector<Expr> below;
      for (size_t other : DirectlyBelow(buffer)) below.push_back(ends_[other]);
      plan.offsets[buffer] = Maximum(below);
      Expr bytes = CeilDivide(buffers_[buffer].bytes, kArenaAlignment) * Expr(kArenaAlignment);
      ends_[buffer] = Simplify(plan.offsets[buffer] + bytes);
      placed_.push_back(buffer);
    }
    plan.arena_bytes = Maximum(ends_);
    return plan;
  }

 private:
  // Returns the buffers by their places at the usual sizes.
  std::vector<size_t> BottomUp() const {
    std::vector<LiveBuffer> live;
    for (const FreeBuffer& buffer : buffers_) {
      live.push_back(buffer.live);
      // A buffer without bytes would have no place among the others.
      live.back().bytes = std::max<int64_t>(live.back().bytes, 1);
    }
    const MemoryPlan usual = PlanMemory(live);
    std::vector<size_t> order(buffers_.size());
    std::iota(order.begin(), order.end(), 0);
    std::ranges::sort(order, {}, [&](size_t i) { return std::pair(usual.offsets[i], i); });
    return order;
  }

  // Returns the placed buffers that are live with a buffer, but for those below another one of
  // them.
  std::vector<size_t> DirectlyBelow(size_t buffer) const {
    std::vector<size_t> below;
    for (size_t i = placed_.size(); i-- > 0;) {
      const LiveBuffer& live = buffers_[placed_[i]].live;
      if (!AreLiveTogether(live, buffers_[buffer].live)) continue;
      bool is_covered = std::ranges::any_of(
          below, [&](size_t other) { return AreLiveTogether(live, buffers_[other].live); });
      if (!is_covered) below.push_back(placed_[i]);
    }
    return below;
  }

  // Returns the maximum of formulas that are not negative.
  Expr Maximum(const std::vector<Expr>& formulas) {
    std::vector<Expr> greatest;
    for (const Expr& formula : formulas) {
      auto holds = [&](const Expr& other) { return IsAtMost(formula, other); };
      if (std::ranges::any_of(greatest, holds)) continue;
      std::erase_if(greatest, [&](const Expr& other) { return IsAtMost(other, formula); });
      greatest.push_back(formula);
    }
    if (greatest.empty()) return 0;
    return greatest.size() == 1 ? greatest[0] : maximum_of_(greatest);
  }

  // Returns whether `a` is at most `b` at all sizes. Layers ask the same again and again.
  bool IsAtMost(const Expr& a, const Expr& b) {
    if (Equal(a, b)) return true;
    auto [known, absent] = at_most_.emplace(b - a, false);
    if (absent) known->second = BoundsOf(Simplify(b - a), {}).low >= 0;
    return known->second;
  }

  std::span<const FreeBuffer> buffers_;
  const MaximumOf& maximum_of_;
  std::vector<size_t> placed_;
  std::vector<Expr> ends_;                                       // by buffer
  std::unordered_map<Expr, bool, ExprHash, ExprEqual> at_most_;  // by difference
};

}  // namespace

FreeMemoryPlan PlanFreeMemory(std::span<const FreeBuffer> buffers, const MaximumOf& maximum_of) {
  return Stack(buffers, maximum_of).Build();
}

}  // namespace tcc
