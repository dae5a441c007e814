#pragma once

#include <span>
#include <string_view>

#include "ir/expr/function.h"
#include "ir/simplify/interval.h"

namespace tcc {

// Returns an expression in normal form with the same value at every point of the bounds: integer
// sums and products become polynomials over atoms (variables, div, mod, ceildiv, min, max),
// constants fold, unit laws and the rules of the tables (simplify_rules.cc) apply. Simplify is
// deterministic and idempotent. Floats are never reassociated: only exact laws hold for them (x + 0
// does not: -0). Divisors count as >= 1.
Expr Simplify(const Expr& expr, const Bounds& bounds = {});
// Simplifies every expression of the statement, including extents, indices, guards, predicates and
// windows. Bounds come from the enclosing loops and block domains. An If that always holds becomes
// its body; no other statement, loop or guard is removed: passes do that.
Stmt Simplify(const Stmt& stmt, const Bounds& bounds = {});
Function Simplify(const Function& fn);

// Compares two i64 expressions, e.g. indices, by their normal forms: these agree exactly if
// Simplify(a - b) is 0.
bool EqualUpToAlgebra(const Expr& a, const Expr& b);

// A row of the rule tables, for the random test: name, left side and right side over the pattern
// variables of match.h.
struct SimplifyRule {
  std::string_view name;
  Expr before;
  Expr after;
};
std::span<const SimplifyRule> SimplifyRules();

}  // namespace tcc
