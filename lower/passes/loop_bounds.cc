#include "lower/passes/loop_bounds.h"

#include <algorithm>

namespace tcc {

Interval RangeOf(const For& loop, const Bounds& bounds) {
  int64_t high = BoundsOf(loop.extent, bounds).high;
  return {0, high == INT64_MAX ? high : std::max<int64_t>(high - 1, 0)};
}

Stmt BoundedMutator::Rewrite(const For& loop) {
  bounds_[loop.var] = RangeOf(loop, bounds_);
  Stmt result = RewriteLoop(loop);
  bounds_.erase(loop.var);
  return result;
}

}  // namespace tcc
