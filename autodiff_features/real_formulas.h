#pragma once

#include <vector>

#include "ir/expr/expr.h"

// The f64 formulas over the sizes of a program: products of extents beyond 2^53 lose digits there
// and nothing else.
namespace tcc {

inline Expr Real(double value) {
  return FloatConst(kFloat64, value);
}
Expr Real(const Expr& integer);

// Returns whether the expression is the f64 constant `value`.
bool IsReal(const Expr& expr, double value);

// Return sums, products and quotients of f64 without neutral terms.
Expr Plus(const Expr& a, const Expr& b);
Expr Times(const Expr& a, const Expr& b);
Expr Over(const Expr& a, const Expr& b);

// Returns the product of integer extents as f64; 1 if there are none.
Expr ProductOf(const std::vector<Expr>& extents);

}  // namespace tcc
