#pragma once

#include <cstdint>
#include <optional>

#include "ir/expr/expr.h"

// What the operators of expressions mean on constants. Integers are held in an int64 as their type
// keeps them (sign- or zero-extended; u64 modulo 2^64), bools as 0 and 1, floats as doubles.
namespace tcc {

// `value` as an integer type keeps it: modulo 2^bits. For bool: value != 0.
int64_t WrapInteger(DType type, int64_t value);
// The nearest value of a float type, halves to even; of 8-bit ones the largest for more.
double RoundFloat(DType type, double value);

// a op b on operands of an integer type or bool, for Add, Sub, Mul, FloorDiv, FloorMod, CeilDiv,
// Min, Max, And, Or and comparisons. nullopt where the result is not defined: a divisor below 1, an
// i64 that overflows.
std::optional<int64_t> EvaluateInteger(ExprKind op, DType type, int64_t a, int64_t b);
// Add, Sub, Mul, Div, Min, Max on doubles, not rounded further.
double EvaluateFloat(ExprKind op, double a, double b);
// Eq, Ne, Lt, Le on doubles.
bool CompareFloat(ExprKind op, double a, double b);

// A row of the table in scalar_op.h. `b` counts for ops of two operands only. nullopt: a divisor 0.
std::optional<int64_t> EvaluateIntegerOp(ScalarOp op, DType type, int64_t a, int64_t b = 0);
double EvaluateFloatOp(ScalarOp op, double a, double b = 0);

// A value of an integer type or bool as another numeric type.
int64_t CastInteger(DType to, int64_t value);
double IntegerToFloat(DType from, DType to, int64_t value);
// Truncates toward zero; values outside the target's range, and NaN, are not defined: nullopt.
std::optional<int64_t> FloatToInteger(DType to, double value);

// The constant that `expr` is, where all its direct operands are constants and the result is exact:
// a float result that its type would round stays as it is, so that every evaluator agrees.
std::optional<Expr> FoldConstant(const Expr& expr);

}  // namespace tcc
