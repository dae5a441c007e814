#pragma once

#include <cstdint>
#include <initializer_list>

#include "codegen_llvm/llvm_forward.h"

// The vocabulary that math_*.cc is written in: f32 or f64 values of any number of lanes.
namespace tcc {

// Constants in the type of `like`.
llvm::Value* Real(llvm::Value* like, double value);
llvm::Value* Int(llvm::Value* like, int64_t value);

llvm::Value* Fma(llvm::IRBuilderBase& b, llvm::Value* x, llvm::Value* y, llvm::Value* z);
llvm::Value* Abs(llvm::IRBuilderBase& b, llvm::Value* x);
llvm::Value* Trunc(llvm::IRBuilderBase& b, llvm::Value* x);
llvm::Value* CopySign(llvm::IRBuilderBase& b, llvm::Value* magnitude, llvm::Value* sign);
// min(x, limit) and max(x, limit) that let a NaN through.
llvm::Value* AtMost(llvm::IRBuilderBase& b, llvm::Value* x, double limit);
llvm::Value* AtLeast(llvm::IRBuilderBase& b, llvm::Value* x, double limit);

// By Horner's rule; coefficients from the constant upwards.
llvm::Value* EvaluatePolynomial(llvm::IRBuilderBase& b, llvm::Value* x,
                                std::initializer_list<double> coefficients);

// The integers of the same width that hold the bits, and back.
llvm::Value* Bits(llvm::IRBuilderBase& b, llvm::Value* x);
llvm::Value* FromBits(llvm::IRBuilderBase& b, llvm::Value* bits);

// x * scale rounded to an integer, as a float and as an integer. |x * scale| < 2^22 (f32) or 2^51.
struct Nearest {
  llvm::Value* real;
  llvm::Value* integer;
};
Nearest NearestInteger(llvm::IRBuilderBase& b, llvm::Value* x, double scale);
// 2^n where that is normal; n has f32's or f64's width.
llvm::Value* PowerOfTwo(llvm::IRBuilderBase& b, llvm::Value* n);
// x * 2^n, rounded once, in one instruction; n is a whole number as a float, of any size. nullptr
// where the CPU has none for values like x.
llvm::Value* ScaleByPowerOfTwo(llvm::IRBuilderBase& b, llvm::Value* x, llvm::Value* n);

// x = 2^exponent * mantissa with sqrt(1/2) <= mantissa < sqrt(2), for normal x > 0.
struct MantissaExponent {
  llvm::Value* mantissa;
  llvm::Value* exponent;  // an integer of x's width
};
MantissaExponent SplitMantissa(llvm::IRBuilderBase& b, llvm::Value* x);

inline constexpr double kLog2E = 1.44269504088896340736;
inline constexpr double kLn2 = 0.693147180559945309417;

}  // namespace tcc
