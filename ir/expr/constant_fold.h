#pragma once

#include <cstdint>
#include <optional>

#include "ir/expr/expr.h"

// The operators of expressions on constants. An int64 holds integers in their type's representation
// (sign- or zero-extended; u64 modulo 2^64), bools as 0 and 1; a double holds floats.
namespace tcc {

// Returns `value` wrapped modulo 2^bits to an integer type. For bool: value != 0.
int64_t WrapInteger(DType type, int64_t value);
// Returns the nearest value of a float type, halves to even. 8-bit floats saturate.
double RoundFloat(DType type, double value);

// Returns a op b on operands of an integer type or bool, for Add, Sub, Mul, FloorDiv, FloorMod,
// CeilDiv, Min, Max, And, Or and comparisons; nullopt where the result is undefined: a divisor
// below 1, overflow of i64.
std::optional<int64_t> EvaluateInteger(ExprKind op, DType type, int64_t a, int64_t b);
// Returns a op b for Add, Sub, Mul, Div, Min, Max on doubles, not rounded further.
double EvaluateFloat(ExprKind op, double a, double b);
// Returns a op b for Eq, Ne, Lt, Le on doubles.
bool CompareFloat(ExprKind op, double a, double b);

// Evaluate an op of the table in scalar_op.h that keeps the type or is a test. Only ops of two
// operands use `b`. nullopt: the divisor is 0.
std::optional<int64_t> EvaluateIntegerOp(ScalarOp op, DType type, int64_t a, int64_t b = 0);
double EvaluateFloatOp(ScalarOp op, double a, double b = 0);
// Evaluate ScalarOp::kPackBf16x2 and kDotBf16x2.
int64_t PackBFloats(double low, double high);
double DotOfBFloats(int64_t a, int64_t b);

// Convert a value of an integer type or bool to another numeric type.
int64_t CastInteger(DType to, int64_t value);
double IntegerToFloat(DType from, DType to, int64_t value);
// Truncates toward zero. Returns nullopt for NaN and values outside the target's range.
std::optional<int64_t> FloatToInteger(DType to, double value);

// Returns the value of `expr` where all its direct operands are constants and the result is exact.
// A float result that its type would round is not folded, so that every evaluator agrees.
std::optional<Expr> FoldConstant(const Expr& expr);

}  // namespace tcc
