#include "codegen_llvm/math_f32.h"

#include <llvm/IR/IRBuilder.h>

#include "codegen_llvm/float_algebra.h"

namespace tcc {
namespace {

using llvm::Value;

// e^x = 2^n e^r with |r| <= ln(2) / 2; ln(2) in two floats.
struct ExpParts {
  Value* power;  // e^r
  Nearest n;
};
ExpParts ReduceExp(llvm::IRBuilderBase& b, Value* x) {
  constexpr double kHigh = static_cast<float>(kLn2);
  Nearest n = NearestInteger(b, x, kLog2E);
  Value* r = Fma(b, n.real, Real(x, -kHigh), x);
  r = Fma(b, n.real, Real(x, kHigh - kLn2), r);
  Value* p = EvaluatePolynomial(
      b, r, {5.000000000e-01, 1.666657776e-01, 4.166655615e-02, 8.363174275e-03, 1.392617705e-03});
  Value* power = Fma(b, b.CreateFMul(r, r), p, r);
  return {b.CreateFAdd(power, Real(x, 1)), n};
}

// Expects -87 < x < 88, where e^x is normal.
Value* NormalExp(llvm::IRBuilderBase& b, Value* x) {
  ExpParts parts = ReduceExp(b, x);
  if (Value* scaled = ScaleByPowerOfTwo(b, parts.power, parts.n.real)) return scaled;
  return b.CreateFMul(parts.power, PowerOfTwo(b, parts.n.integer));
}

}  // namespace

// The argument is clamped to where the result is normal or infinite, and the result is 0 below
// that: no operation here has a subnormal operand or result, which costs an Intel CPU some 150
// cycles. 2^n is applied in two halves, since 2^128 is none.
Value* EmitExpF32(llvm::IRBuilderBase& b, Value* x) {
  ExpParts parts = ReduceExp(b, AtMost(b, AtLeast(b, x, kMinExpF32), 89));
  Value* power = ScaleByPowerOfTwo(b, parts.power, parts.n.real);
  if (power == nullptr) {
    Value* half = b.CreateAShr(parts.n.integer, 1);
    Value* rest = b.CreateSub(parts.n.integer, half);
    power = b.CreateFMul(b.CreateFMul(parts.power, PowerOfTwo(b, half)), PowerOfTwo(b, rest));
  }
  Value* is_tiny = b.CreateFCmpOLT(x, Real(x, kMinExpF32));
  return b.CreateSelect(is_tiny, Real(x, 0), power);
}

// x = 2^e m with sqrt(1/2) <= m < sqrt(2); log(1 + f) = f - f^2/2 + f^3 P(f). ln(2) is split so
// that e * high is exact.
Value* EmitLogF32(llvm::IRBuilderBase& b, Value* x) {
  constexpr double kHigh = 0.693359375;
  Value* subnormal = b.CreateFCmpOLT(x, Real(x, 0x1p-126));
  Value* scaled = b.CreateSelect(subnormal, b.CreateFMul(x, Real(x, 0x1p23)), x);
  MantissaExponent parts = SplitMantissa(b, scaled);
  Value* shift = b.CreateSelect(subnormal, Int(parts.exponent, 23), Int(parts.exponent, 0));
  Value* e = b.CreateSIToFP(b.CreateSub(parts.exponent, shift), x->getType());

  Value* f = b.CreateFSub(parts.mantissa, Real(x, 1));
  Value* square = b.CreateFMul(f, f);
  Value* p = EvaluatePolynomial(
      b, f,
      {3.333333135e-01, -2.499999702e-01, 2.000071555e-01, -1.666780263e-01, 1.424905807e-01,
       -1.242568716e-01, 1.168541983e-01, -1.147973388e-01, 6.971611828e-02});
  Value* low = Fma(b, b.CreateFMul(f, square), p, b.CreateFMul(e, Real(x, kLn2 - kHigh)));
  low = Fma(b, Real(x, -0.5), square, low);
  Value* result = Fma(b, e, Real(x, kHigh), b.CreateFAdd(f, low));

  Value* infinity = llvm::ConstantFP::getInfinity(x->getType());
  Value* at_most_zero = b.CreateSelect(b.CreateFCmpOEQ(x, Real(x, 0)), b.CreateFNeg(infinity),
                                       llvm::ConstantFP::getNaN(x->getType()));
  result = b.CreateSelect(b.CreateFCmpOEQ(x, infinity), infinity, result);
  return b.CreateSelect(b.CreateFCmpOGT(x, Real(x, 0)), result, at_most_zero);
}

// x + x^3 P(x^2) below 0.625, above 1 - 2 / (e^2x + 1), where nothing cancels; 1 from 10 on.
Value* EmitTanhF32(llvm::IRBuilderBase& b, Value* x) {
  Value* magnitude = AtMost(b, Abs(b, x), 10);
  Value* square = b.CreateFMul(magnitude, magnitude);
  Value* p = EvaluatePolynomial(b, square,
                                {-3.333333433e-01, 1.333330423e-01, -5.395925790e-02,
                                 2.176891826e-02, -8.343945257e-03, 2.292744815e-03});
  Value* small = Fma(b, b.CreateFMul(magnitude, square), p, magnitude);
  Value* power = NormalExp(b, b.CreateFMul(magnitude, Real(x, 2)));
  Value* quotient = b.CreateFDiv(Real(x, 2), b.CreateFAdd(power, Real(x, 1)));
  Value* large = b.CreateFSub(Real(x, 1), quotient);
  Value* is_small = b.CreateFCmpOLT(magnitude, Real(x, 0.625));
  return CopySign(b, b.CreateSelect(is_small, small, large), x);
}

// x P(x^2) below 1; above, 1 - e^Q(x) with Q(x) = log(erfc(x)) on [0.98, 4]; 1 from 4 on.
Value* EmitErfF32(llvm::IRBuilderBase& b, Value* x) {
  Value* magnitude = AtMost(b, Abs(b, x), 4);
  Value* p =
      EvaluatePolynomial(b, b.CreateFMul(magnitude, magnitude),
                         {1.128379107e+00, -3.761262596e-01, 1.128359437e-01, -2.685421146e-02,
                          5.189087242e-03, -8.016864303e-04, 7.875874871e-05});
  Value* small = b.CreateFMul(magnitude, p);
  Value* q = EvaluatePolynomial(
      b, magnitude,
      {3.214710159e-04, -1.130239248e+00, -6.318156719e-01, -1.100901961e-01, 2.642704360e-02,
       -4.761717282e-03, 5.972644431e-04, -4.611291297e-05, 1.639937977e-06});
  Value* large = b.CreateFSub(Real(x, 1), NormalExp(b, q));
  Value* is_small = b.CreateFCmpOLT(magnitude, Real(x, 1));
  return CopySign(b, b.CreateSelect(is_small, small, large), x);
}

// With d = e^-|x|: 1 / (1 + d) for x >= 0, d / (1 + d) below; neither overflows nor cancels.
Value* EmitSigmoidF32(llvm::IRBuilderBase& b, Value* x) {
  Value* decay = EmitExpF32(b, b.CreateFNeg(Abs(b, x)));
  Value* numerator = b.CreateSelect(b.CreateFCmpOLT(x, Real(x, 0)), decay, Real(x, 1));
  return b.CreateFDiv(numerator, b.CreateFAdd(Real(x, 1), decay));
}

}  // namespace tcc
