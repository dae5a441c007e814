#include "lower/passes/loop_bounds.h"

#include <algorithm>

namespace tcc {

Interval RangeOf(const For& loop, const Bounds& bounds) {
  int64_t high = BoundsOf(loop.extent, bounds).high;
  return {0, high == INT64_MAX ? high : std::max<int64_t>(high - 1, 0)};
}

// Inside a threadIdx loop that rebinds an axis, the variable further out has the same value: the
// inner extent says which threads are there.
Stmt BoundedMutator::Rewrite(const For& loop) {
  Interval range = RangeOf(loop, bounds_);
  std::vector<std::pair<Var, Interval>> outer;
  if (IsThreadIdx(loop.for_kind)) {
    for (const For* other : threads_) {
      if (other->for_kind != loop.for_kind) continue;
      outer.emplace_back(other->var, bounds_[other->var]);
      bounds_[other->var] = range;
    }
    threads_.push_back(&loop);
  }
  bounds_[loop.var] = range;
  Stmt result = RewriteLoop(loop);
  bounds_.erase(loop.var);
  if (IsThreadIdx(loop.for_kind)) threads_.pop_back();
  for (const auto& [var, before] : outer) bounds_[var] = before;
  return result;
}

}  // namespace tcc
