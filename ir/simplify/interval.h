#pragma once

#include <cstdint>
#include <unordered_map>

#include "ir/expr/compare.h"
#include "ir/expr/expr.h"

namespace tcc {

// low <= x <= high; INT64_MIN and INT64_MAX stand for unbounded.
struct Interval {
  int64_t low = INT64_MIN;
  int64_t high = INT64_MAX;
  static Interval Point(int64_t value) { return {value, value}; }
  friend bool operator==(const Interval&, const Interval&) = default;
};

using Bounds = std::unordered_map<Var, Interval, VarHash>;

// Bounds of an i64 (or bool, as 0 and 1) expression where its variables lie in `bounds`; Tile and
// Shape variables that are missing there count with their own range, others as unbounded. Always
// sound; tight for expressions that use each variable once. Arithmetic saturates, never overflows.
// Loads and calls are unbounded.
Interval BoundsOf(const Expr& expr, const Bounds& bounds);

// Whether `condition` is proven to hold (kTrue) or to fail (kFalse) at every point of the bounds.
enum class Proof { kTrue, kFalse, kUnknown };
Proof Prove(const Expr& condition, const Bounds& bounds);
// The same by the condition's interval alone: all that can be proven of one that Simplify has been
// over with these bounds.
Proof Decide(const Expr& condition, const Bounds& bounds);

}  // namespace tcc
