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
Expr RealSum(const Expr& a, const Expr& b);
Expr RealProduct(const Expr& a, const Expr& b);
Expr RealQuotient(const Expr& a, const Expr& b);

Expr Exp(const Expr& x);
Expr Ln(const Expr& x);

// Returns the largest of some formulas, of which those that are 0 are left out.
Expr Largest(const std::vector<Expr>& values);

// Returns (sum of t^p)^(1/p): the time that several resources need together, each t a little above
// 0.
Expr Overlapped(const std::vector<Expr>& seconds, const Expr& p);

// Returns the product of integer extents as f64; 1 if there are none.
Expr ProductOf(const std::vector<Expr>& extents);

}  // namespace tcc
