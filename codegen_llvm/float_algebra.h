#pragma once

#include <cstdint>
#include <initializer_list>

#include "codegen_llvm/llvm_forward.h"

// The operations that math_*.cc uses, on f32 or f64 values with any number of lanes.
namespace tcc {

// Returns a constant in the type of `like`.
llvm::Value* Real(llvm::Value* like, double value);
llvm::Value* Int(llvm::Value* like, int64_t value);

llvm::Value* Fma(llvm::IRBuilderBase& b, llvm::Value* x, llvm::Value* y, llvm::Value* z);
llvm::Value* Abs(llvm::IRBuilderBase& b, llvm::Value* x);
llvm::Value* Trunc(llvm::IRBuilderBase& b, llvm::Value* x);
llvm::Value* CopySign(llvm::IRBuilderBase& b, llvm::Value* magnitude, llvm::Value* sign);
// Emits min(x, limit) or max(x, limit); a NaN in x stays.
llvm::Value* AtMost(llvm::IRBuilderBase& b, llvm::Value* x, double limit);
llvm::Value* AtLeast(llvm::IRBuilderBase& b, llvm::Value* x, double limit);

// Evaluates a polynomial by Horner's rule; the constant coefficient comes first.
llvm::Value* EvaluatePolynomial(llvm::IRBuilderBase& b, llvm::Value* x,
                                std::initializer_list<double> coefficients);

// Reinterprets floats as integers of the same width, and back.
llvm::Value* Bits(llvm::IRBuilderBase& b, llvm::Value* x);
llvm::Value* FromBits(llvm::IRBuilderBase& b, llvm::Value* bits);

// x * scale rounded to an integer, as a float and as an integer. |x * scale| < 2^22 (f32) or 2^51.
struct Nearest {
  llvm::Value* real;
  llvm::Value* integer;
};
Nearest NearestInteger(llvm::IRBuilderBase& b, llvm::Value* x, double scale);
// Returns 2^n, which must be normal; n has f32's or f64's width.
llvm::Value* PowerOfTwo(llvm::IRBuilderBase& b, llvm::Value* n);
// Returns x * 2^n, rounded once, in one instruction; n is a whole number as a float, of any size.
// Returns nullptr if the CPU has no such instruction for x's type.
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
