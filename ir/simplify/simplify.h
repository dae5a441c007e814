#pragma once

#include <span>
#include <string_view>

#include "ir/expr/function.h"
#include "ir/simplify/interval.h"

namespace tcc {

// The same value at every point of the bounds, in a normal form: integer sums and products become
// polynomials over atoms (variables, div, mod, ceildiv, min, max), constants fold, unit laws and
// the rules of the tables (simplify_rules.cc) apply. Deterministic; idempotent. Floats are never
// reassociated: only exact laws hold for them (x + 0 does not: -0). Divisors count as >= 1.
Expr Simplify(const Expr& expr, const Bounds& bounds = {});
// Also in every extent, index, guard, predicate and window; bounds come from the enclosing loops
// and block domains. Removes no statement, loop or guard: passes do.
Stmt Simplify(const Stmt& stmt, const Bounds& bounds = {});
Function Simplify(const Function& fn);

// Each i64 expression as a polynomial sum, e.g. to compare two index expressions:
// Simplify(a - b) is 0 exactly if their normal forms agree.
bool EqualUpToAlgebra(const Expr& a, const Expr& b);

// A row of the rule tables, for the random test: name, left side, right side and condition, over
// the pattern variables of match.h. The condition is over constants only.
struct SimplifyRule {
  std::string_view name;
  Expr before;
  Expr after;
  Expr condition;  // bool; True() where it always holds
};
std::span<const SimplifyRule> SimplifyRules();

}  // namespace tcc
