#pragma once

#include "ir/expr.h"

namespace tcc {

// Lane `lane` of a vector expression, as a scalar one.
Expr LaneOf(const Expr& expr, int lane);

// A number that divides every value of an i64 expression, its variables being any integers; 0 where
// it is 0 itself.
int64_t DivisorOf(const Expr& expr);

}  // namespace tcc
