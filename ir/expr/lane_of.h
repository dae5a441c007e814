#pragma once

#include <unordered_map>
#include <vector>

#include "ir/expr/expr.h"

namespace tcc {

// The scalar variables that hold the lanes of each vector variable.
using LaneVars = std::unordered_map<const ExprNode*, std::vector<Var>>;

// Returns lane `lane` of a vector expression as a scalar one. Expects `vars` to know its vector
// variables.
Expr LaneOf(const Expr& expr, int lane, const LaneVars& vars);

}  // namespace tcc
