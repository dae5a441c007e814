#pragma once

#include "ir/simplify/interval.h"

// Interval arithmetic: each function returns the least interval that holds the result for every
// choice of operands. Results beyond int64 saturate to unbounded. Divisors count as >= 1.
namespace tcc {

Interval operator+(Interval a, Interval b);
Interval operator-(Interval a, Interval b);
Interval operator*(Interval a, Interval b);
Interval FloorDivide(Interval a, Interval b);
Interval CeilDivide(Interval a, Interval b);
Interval FloorModulo(Interval a, Interval b);
Interval MinOf(Interval a, Interval b);
Interval MaxOf(Interval a, Interval b);
// Returns the least interval that holds both.
Interval Hull(Interval a, Interval b);
// Returns the intersection; `a` where it is empty.
Interval Narrow(Interval a, Interval b);
inline bool IsPoint(Interval a) {
  return a.low == a.high;
}

}  // namespace tcc
