#pragma once

#include <unordered_map>

#include "ir/expr/compare.h"
#include "ir/expr/function.h"

namespace tcc {

using Substitution = std::unordered_map<Var, Expr, VarHash>;

// Replace free variables by expressions of the same type, without simplification. A variable that
// is bound inside is never in the map, since every binder makes a fresh variable.
Expr Substitute(const Expr& expr, const Substitution& values);
Expr Substitute(const Expr& expr, const Var& var, const Expr& value);
Stmt Substitute(const Stmt& stmt, const Substitution& values);
Stmt Substitute(const Stmt& stmt, const Var& var, const Expr& value);
// Replaces variables in a function and drops them from `vars`.
Function Substitute(const Function& fn, const Substitution& values);

// Returns the same statement with a fresh variable for every loop, iteration, let and buffer
// variable that it defines.
Stmt WithFreshVars(const Stmt& stmt);

}  // namespace tcc
