#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "support/dtype.h"

namespace tcc {

// The columns: text, enumerator, arity, type rule, semantics.
//   kFloat    floats to the same float        kNumeric  any numeric type to itself
//   kInteger  integers to the same integer    kTest     a float to bool
//   kSingle   f32 to f32                      kWord     i32 to i32
//   kPack     f32 to i32                      kUnpack   i32 to f32
// Every op is pure and works lane by lane. NaN in gives NaN out unless said otherwise.
#define TCC_SCALAR_OPS(X)                                                                       \
  X("exp", kExp, 1, kFloat, "e^x")                                                              \
  X("log", kLog, 1, kFloat, "natural logarithm; NaN below 0, -inf at 0")                        \
  X("log1p", kLog1p, 1, kFloat, "log(1 + x)")                                                   \
  X("sqrt", kSqrt, 1, kFloat, "correctly rounded; NaN below 0")                                 \
  X("rsqrt", kRsqrt, 1, kFloat, "1 / sqrt(x)")                                                  \
  X("sin", kSin, 1, kFloat, "radians")                                                          \
  X("cos", kCos, 1, kFloat, "radians")                                                          \
  X("tan", kTan, 1, kFloat, "radians")                                                          \
  X("asin", kAsin, 1, kFloat, "")                                                               \
  X("acos", kAcos, 1, kFloat, "")                                                               \
  X("atan", kAtan, 1, kFloat, "")                                                               \
  X("sinh", kSinh, 1, kFloat, "")                                                               \
  X("cosh", kCosh, 1, kFloat, "")                                                               \
  X("asinh", kAsinh, 1, kFloat, "")                                                             \
  X("acosh", kAcosh, 1, kFloat, "")                                                             \
  X("atanh", kAtanh, 1, kFloat, "")                                                             \
  X("tanh", kTanh, 1, kFloat, "")                                                               \
  X("erf", kErf, 1, kFloat, "Gauss error function")                                             \
  X("sigmoid", kSigmoid, 1, kFloat, "1 / (1 + e^-x), without overflow")                         \
  X("floor", kFloor, 1, kFloat, "toward minus infinity")                                        \
  X("ceil", kCeil, 1, kFloat, "toward plus infinity")                                           \
  X("round", kRound, 1, kFloat, "to nearest, halves to even")                                   \
  X("trunc", kTrunc, 1, kFloat, "toward zero")                                                  \
  X("abs", kAbs, 1, kNumeric, "the smallest signed integer stays itself")                       \
  X("sign", kSign, 1, kNumeric, "-1, 0 or 1; 0 for either zero")                                \
  X("pow", kPow, 2, kFloat, "as C's pow")                                                       \
  X("fmod", kFMod, 2, kFloat, "as C's fmod: the dividend's sign")                               \
  X("exp_diff", kExpDiff, 2, kFloat, "x == y ? 1 : e^(x - y); so that -inf minus -inf gives 1") \
  X("trunc_div", kTruncDiv, 2, kInteger, "toward zero; the divisor is not 0")                   \
  X("trunc_mod", kTruncMod, 2, kInteger, "the dividend's sign; the divisor is not 0")           \
  X("bit_and", kBitAnd, 2, kInteger, "")                                                        \
  X("bit_or", kBitOr, 2, kInteger, "")                                                          \
  X("bit_xor", kBitXor, 2, kInteger, "")                                                        \
  X("bit_not", kBitNot, 1, kInteger, "")                                                        \
  X("popcount", kPopcount, 1, kInteger, "the number of bits that are 1")                        \
  X("shift_left", kShiftLeft, 2, kInteger, "0 for a count of the width or more")                \
  X("shift_right", kShiftRight, 2, kInteger,                                                    \
    "of an unsigned value; 0 for a count of the width or more")                                 \
  X("dot_i16x2", kDotI16x2, 2, kWord,                                                           \
    "the signed halves of two words: low * low + high * high, modulo 2^32")                     \
  X("dot_u8i8x4", kDotU8I8x4, 2, kWord,                                                         \
    "the sum of four products: a word's bytes, unsigned, by another's, signed")                 \
  X("dot_i8i8x4", kDotI8I8x4, 2, kWord, "the same, both signed")                                \
  X("pack_bf16x2", kPackBf16x2, 2, kPack,                                                       \
    "a word of two bf16, rounded to nearest, halves to even; the first is the low half")        \
  X("dot_bf16x2", kDotBf16x2, 2, kUnpack,                                                       \
    "the bf16 halves of two words: low * low + high * high; denormal numbers may count as 0")   \
  X("is_nan", kIsNan, 1, kTest, "")                                                             \
  X("is_inf", kIsInf, 1, kTest, "either sign")

enum class ScalarOp : uint8_t {
#define TCC_SCALAR_OP_ENUM(text, op, arity, rule, semantics) op,
  TCC_SCALAR_OPS(TCC_SCALAR_OP_ENUM)
#undef TCC_SCALAR_OP_ENUM
};

enum class ScalarTypeRule : uint8_t {
  kFloat,
  kSingle,
  kNumeric,
  kInteger,
  kWord,
  kPack,
  kUnpack,
  kTest
};

struct ScalarOpRow {
  std::string_view text;
  int arity;
  ScalarTypeRule rule;
  std::string_view semantics;
};

const ScalarOpRow& RowOf(ScalarOp op);
std::optional<ScalarOp> FindScalarOp(std::string_view text);
// Returns the result type of `op` on operands of type `dtype`; nullopt where the rule forbids the
// type.
std::optional<DType> ResultType(ScalarOp op, DType dtype);
// Returns whether the result has the type of the operands.
bool KeepsType(ScalarOp op);
// Returns whether the op is a sum of the products of the numbers that two words hold.
bool IsDotOfWords(ScalarOp op);

}  // namespace tcc
