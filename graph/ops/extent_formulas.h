#pragma once

#include <string_view>

#include "graph/ops/node_lowering.h"

// Arithmetic on extents, positions and counts: numbers, or formulas over Shape variables. Numbers
// give numbers, which saturate instead of overflowing. Formulas are simplified; minima, maxima and
// choices that the ranges of their variables decide disappear.
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

// Return index + offset and index * factor without a node for a neutral number. They simplify
// nothing, so that indices stay as they are written.
Expr Shifted(const Expr& index, const Expr& offset);
Expr Scaled(const Expr& index, const Expr& factor);

// Takes for granted that a formula is not negative, as extents are. Numbers are left to the caller,
// whose message says more.
Status TakeAsExtent(NodeLowering& node, const Expr& formula, std::string_view what);
// Returns the extents that an operand called "shape" lists; InvalidArgument if one is negative.
StatusOr<std::vector<Expr>> ShapeOperand(NodeLowering& node, size_t input);

}  // namespace tcc
