#pragma once

#include <unordered_map>
#include <vector>

#include "ir/expr/expr.h"

namespace tcc {

// What the lanes of vector variables are.
using LaneVars = std::unordered_map<const ExprNode*, std::vector<Var>>;

// Lane `lane` of a vector expression, as a scalar one. Expects `vars` to know its vector variables.
Expr LaneOf(const Expr& expr, int lane, const LaneVars& vars);

// A number that divides every value of an i64 expression, its variables being any integers; 0 where
// it is 0 itself.
int64_t DivisorOf(const Expr& expr);

}  // namespace tcc
