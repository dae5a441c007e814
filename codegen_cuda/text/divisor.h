#pragma once

#include <cstdint>

#include "ir/expr/expr.h"

namespace tcc {

// Returns a number that divides the i64 expression for all integer values of its variables; 0 if
// the expression is 0.
int64_t DivisorOf(const Expr& expr);

}  // namespace tcc
