#pragma once

#include <vector>

#include "ir/expr/expr.h"

// Formulas of f64 over the sizes of a program: products of extents that pass 2^53 lose digits there
// and nothing else.
namespace tcc {

inline Expr Real(double value) {
  return FloatConst(kFloat64, value);
}
Expr Real(const Expr& integer);

// The value of an f64 constant.
bool IsReal(const Expr& expr, double value);

// Sums, products and quotients of f64 without the terms that change nothing.
Expr Plus(const Expr& a, const Expr& b);
Expr Times(const Expr& a, const Expr& b);
Expr Over(const Expr& a, const Expr& b);

// The product of integer extents as f64; 1 of none.
Expr ProductOf(const std::vector<Expr>& extents);

}  // namespace tcc
