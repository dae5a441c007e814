#pragma once

#include <cstdint>
#include <unordered_map>

#include "ir/expr/compare.h"
#include "ir/expr/expr.h"

namespace tcc {

// The range low <= x <= high; INT64_MIN and INT64_MAX stand for unbounded.
struct Interval {
  int64_t low = INT64_MIN;
  int64_t high = INT64_MAX;
  static Interval Point(int64_t value) { return {value, value}; }
  friend bool operator==(const Interval&, const Interval&) = default;
};

using Bounds = std::unordered_map<Var, Interval, VarHash>;

// Returns bounds of an i64 (or bool, as 0 and 1) expression whose variables lie in `bounds`. Tile
// and Shape variables that are missing there have their own range, others are unbounded. The result
// is always sound, and tight for expressions that use each variable once. Arithmetic saturates and
// never overflows. Loads are unbounded, as are calls other than bitwise ones.
Interval BoundsOf(const Expr& expr, const Bounds& bounds);

// The result of a proof: the condition holds (kTrue) or fails (kFalse) at every point of the
// bounds.
enum class Proof { kTrue, kFalse, kUnknown };
Proof Prove(const Expr& condition, const Bounds& bounds);
// Does the same by the condition's interval alone, which suffices for a condition that Simplify has
// simplified with these bounds.
Proof Decide(const Expr& condition, const Bounds& bounds);

}  // namespace tcc
