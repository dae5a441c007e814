#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>

#include "ir/expr/expr.h"

namespace tcc {

struct ExprFailure {
  std::string property;  // which promise was broken
  Expr expr;             // for which expression
};

// How often each kind of expression was tried, and facts that are counted but not promised.
using ExprHistogram = std::map<std::string, int64_t>;

// One random expression, made from `seed` alone, at a few random points of its bounds. Held against
// plain evaluation: Simplify keeps the value and repeats itself; BoundsOf holds the value; Prove
// does not lie; substituting a size before or after simplifying gives the same (for the expressions
// that schedules make); ToAffine rebuilds the value and BoxOf covers every index from an exact
// origin.
std::optional<ExprFailure> CheckExprPoint(uint64_t seed, ExprHistogram& histogram);

}  // namespace tcc
