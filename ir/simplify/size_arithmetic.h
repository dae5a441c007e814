#pragma once

#include "ir/expr/expr.h"

// Arithmetic on extents, positions and counts: numbers, or formulas over Shape variables. Numbers
// give numbers, INT64_MAX or INT64_MIN where the result does not fit. Formulas are simplified;
// minima, maxima and choices that the ranges of their variables decide disappear.
namespace tcc {

Expr SumOf(const Expr& a, const Expr& b);
Expr DifferenceOf(const Expr& a, const Expr& b);
Expr ProductOf(const Expr& a, const Expr& b);
// Return a / b, rounded down and up. Expect b >= 1.
Expr QuotientOf(const Expr& a, const Expr& b);
Expr CeilQuotientOf(const Expr& a, const Expr& b);
Expr SmallerOf(const Expr& a, const Expr& b);
Expr LargerOf(const Expr& a, const Expr& b);
Expr ChosenOf(const Expr& condition, const Expr& then_value, const Expr& else_value);

// Returns whether the condition holds for all values of the Shape variables.
bool AlwaysHolds(const Expr& condition);

}  // namespace tcc
