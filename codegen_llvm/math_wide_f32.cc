// Functions of float32 that are computed in f64, to some 40 bits, and rounded once.

#include <llvm/IR/IRBuilder.h>

#include "codegen_llvm/float_algebra.h"
#include "codegen_llvm/llvm_types.h"
#include "codegen_llvm/math_f32.h"

namespace tcc {
namespace {

using llvm::Value;

Value* ToDouble(llvm::IRBuilderBase& b, Value* x) {
  return b.CreateFPExt(x, SameLanes(x, b.getDoubleTy()));
}

Value* Infinity(Value* like) {
  return llvm::ConstantFP::getInfinity(like->getType());
}

// log(m) = 2 artanh(s), s = (m - 1) / (m + 1), |s| <= 0.172: eight terms of its series leave 1e-14.
Value* LogOfNormal(llvm::IRBuilderBase& b, Value* x) {
  MantissaExponent parts = SplitMantissa(b, x);
  Value* one = Real(x, 1);
  Value* s = b.CreateFDiv(b.CreateFSub(parts.mantissa, one), b.CreateFAdd(parts.mantissa, one));
  Value* series = EvaluatePolynomial(
      b, b.CreateFMul(s, s),
      {2.0, 2.0 / 3, 2.0 / 5, 2.0 / 7, 2.0 / 9, 2.0 / 11, 2.0 / 13, 2.0 / 15, 2.0 / 17});
  Value* e = b.CreateSIToFP(parts.exponent, x->getType());
  return Fma(b, e, Real(x, kLn2), b.CreateFMul(s, series));
}

// e^x for |x| <= 300; the Taylor series on |r| <= ln(2) / 2 leaves 2e-13.
Value* ExpOfModerate(llvm::IRBuilderBase& b, Value* x) {
  Nearest n = NearestInteger(b, x, kLog2E);
  Value* r = Fma(b, n.real, Real(x, -kLn2), x);
  Value* series = EvaluatePolynomial(b, r,
                                     {1.0, 1.0, 1.0 / 2, 1.0 / 6, 1.0 / 24, 1.0 / 120, 1.0 / 720,
                                      1.0 / 5040, 1.0 / 40320, 1.0 / 362880, 1.0 / 3628800});
  return b.CreateFMul(series, PowerOfTwo(b, n.integer));
}

// x = k pi/2 + r; `quarter` = 0 gives sin(x), 1 gives cos(x). Taylor series on |r| <= pi / 4.
Value* SineOfQuarter(llvm::IRBuilderBase& b, Value* x, int quarter) {
  constexpr double kHalfPi = 1.57079632679489661923;
  constexpr double kHalfPiLow = 6.12323399573676603587e-17;
  Value* wide = ToDouble(b, x);
  Nearest k = NearestInteger(b, wide, 1 / kHalfPi);
  Value* r = Fma(b, k.real, Real(wide, -kHalfPi), wide);
  r = Fma(b, k.real, Real(wide, -kHalfPiLow), r);
  Value* square = b.CreateFMul(r, r);
  Value* sine = EvaluatePolynomial(
      b, square, {-1.0 / 6, 1.0 / 120, -1.0 / 5040, 1.0 / 362880, -1.0 / 39916800});
  sine = Fma(b, b.CreateFMul(r, square), sine, r);
  Value* cosine = EvaluatePolynomial(
      b, square,
      {1.0, -1.0 / 2, 1.0 / 24, -1.0 / 720, 1.0 / 40320, -1.0 / 3628800, 1.0 / 479001600});
  Value* turns = b.CreateAdd(k.integer, Int(k.integer, quarter));
  Value* odd = b.CreateICmpNE(b.CreateAnd(turns, Int(turns, 1)), Int(turns, 0));
  Value* value = b.CreateSelect(odd, cosine, sine);
  Value* negative = b.CreateICmpNE(b.CreateAnd(turns, Int(turns, 2)), Int(turns, 0));
  value = b.CreateSelect(negative, b.CreateFNeg(value), value);
  return b.CreateFPTrunc(value, x->getType());
}

// |x|^y for numbers; zeros and infinities of either included, but not 1^inf or 0^0.
Value* MagnitudePower(llvm::IRBuilderBase& b, Value* x, Value* y) {
  Value* magnitude = Abs(b, x);
  Value* log = LogOfNormal(b, magnitude);
  log = b.CreateSelect(b.CreateFCmpOEQ(magnitude, Infinity(x)), Infinity(x), log);
  log = b.CreateSelect(b.CreateFCmpOEQ(magnitude, Real(x, 0)), b.CreateFNeg(Infinity(x)), log);
  // e^200 is infinite in f32 and e^-200 is 0.
  return ExpOfModerate(b, AtLeast(b, AtMost(b, b.CreateFMul(y, log), 200), -200));
}

}  // namespace

// With u = 1 + x rounded, log(u) * x / (u - 1) corrects what the rounding lost.
Value* EmitLog1pF32(llvm::IRBuilderBase& b, Value* x) {
  Value* wide = ToDouble(b, x);
  Value* u = b.CreateFAdd(wide, Real(wide, 1));
  Value* corrected =
      b.CreateFDiv(b.CreateFMul(LogOfNormal(b, u), wide), b.CreateFSub(u, Real(wide, 1)));
  Value* unchanged =
      b.CreateOr(b.CreateFCmpOEQ(u, Real(u, 1)), b.CreateFCmpUEQ(wide, Infinity(wide)));
  Value* result = b.CreateSelect(unchanged, wide, corrected);
  Value* below = b.CreateSelect(b.CreateFCmpOEQ(u, Real(u, 0)), b.CreateFNeg(Infinity(wide)),
                                llvm::ConstantFP::getNaN(wide->getType()));
  result = b.CreateSelect(b.CreateFCmpOLE(u, Real(u, 0)), below, result);
  return b.CreateFPTrunc(result, x->getType());
}

Value* EmitSinF32(llvm::IRBuilderBase& b, Value* x) {
  // A zero keeps its sign.
  return b.CreateSelect(b.CreateFCmpOEQ(x, Real(x, 0)), x, SineOfQuarter(b, x, 0));
}

Value* EmitCosF32(llvm::IRBuilderBase& b, Value* x) {
  return SineOfQuarter(b, x, 1);
}

// The special cases are those of C's pow, annex F.
Value* EmitPowF32(llvm::IRBuilderBase& b, Value* x32, Value* y32) {
  Value* x = ToDouble(b, x32);
  Value* y = ToDouble(b, y32);
  Value* zero = Real(x, 0);
  Value* one = Real(x, 1);
  Value* result = MagnitudePower(b, x, y);

  Value* half = b.CreateFMul(y, Real(y, 0.5));
  Value* is_integer = b.CreateFCmpOEQ(Trunc(b, y), y);
  Value* is_odd = b.CreateAnd(is_integer, b.CreateFCmpUNE(Trunc(b, half), half));
  result = b.CreateSelect(is_odd, CopySign(b, result, x), result);

  Value* finite_negative =
      b.CreateAnd(b.CreateFCmpOLT(x, zero), b.CreateFCmpOGT(x, b.CreateFNeg(Infinity(x))));
  Value* no_value = b.CreateAnd(finite_negative, b.CreateNot(is_integer));
  no_value = b.CreateOr(no_value, b.CreateFCmpUNO(x, y));
  result = b.CreateSelect(no_value, llvm::ConstantFP::getNaN(x->getType()), result);

  Value* unit_to_infinity =
      b.CreateAnd(b.CreateFCmpOEQ(Abs(b, x), one), b.CreateFCmpOEQ(Abs(b, y), Infinity(y)));
  Value* is_one = b.CreateOr(b.CreateFCmpOEQ(y, zero), b.CreateFCmpOEQ(x, one));
  result = b.CreateSelect(b.CreateOr(is_one, unit_to_infinity), one, result);
  return b.CreateFPTrunc(result, x32->getType());
}

}  // namespace tcc
