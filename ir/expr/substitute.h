#pragma once

#include <unordered_map>

#include "ir/expr/compare.h"
#include "ir/expr/function.h"

namespace tcc {

using Substitution = std::unordered_map<Var, Expr, VarHash>;

// Replaces free variables by expressions of the same type; nothing is simplified. A variable bound
// inside is never in the map: every binder makes a fresh variable.
Expr Substitute(const Expr& expr, const Substitution& values);
Expr Substitute(const Expr& expr, const Var& var, const Expr& value);
Stmt Substitute(const Stmt& stmt, const Substitution& values);
Stmt Substitute(const Stmt& stmt, const Var& var, const Expr& value);
// Also drops the replaced variables from `vars`.
Function Substitute(const Function& fn, const Substitution& values);

// The same statement with every loop, iteration, let and buffer variable it defines made anew.
Stmt WithFreshVars(const Stmt& stmt);

}  // namespace tcc
