#include "codegen_llvm/float_algebra.h"

#include <llvm/IR/IRBuilder.h>
#include <llvm/IR/IntrinsicsX86.h>

#include <numeric>
#include <vector>

#include "codegen_llvm/llvm_types.h"

namespace tcc {

using llvm::Value;

namespace {

bool IsDouble(Value* value) {
  return value->getType()->getScalarSizeInBits() == 64;
}

// Checks whether the function that is being built targets a CPU with AVX-512.
bool HasAvx512(llvm::IRBuilderBase& b) {
  return b.GetInsertBlock()->getParent()->hasFnAttribute("min-legal-vector-width");
}

// Emits vscalefps with 16, 8 or 4 lanes, unmasked and rounded to nearest.
Value* ScaleVector(llvm::IRBuilderBase& b, Value* x, Value* n) {
  switch (LanesOf(x)) {
    case 16:
      return b.CreateIntrinsic(llvm::Intrinsic::x86_avx512_mask_scalef_ps_512, {},
                               {x, n, x, b.getInt16(-1), b.getInt32(4)});
    case 8:
      return b.CreateIntrinsic(llvm::Intrinsic::x86_avx512_mask_scalef_ps_256, {},
                               {x, n, x, b.getInt8(-1)});
    default:
      return b.CreateIntrinsic(llvm::Intrinsic::x86_avx512_mask_scalef_ps_128, {},
                               {x, n, x, b.getInt8(-1)});
  }
}

std::vector<int> Sequence(int first, int count) {
  std::vector<int> lanes(static_cast<size_t>(count));
  std::iota(lanes.begin(), lanes.end(), first);
  return lanes;
}

}  // namespace

Value* Real(Value* like, double value) {
  return llvm::ConstantFP::get(like->getType(), value);
}

Value* Int(Value* like, int64_t value) {
  return llvm::ConstantInt::get(like->getType(), value, /*IsSigned=*/true);
}

Value* Fma(llvm::IRBuilderBase& b, Value* x, Value* y, Value* z) {
  return b.CreateIntrinsic(llvm::Intrinsic::fma, {x->getType()}, {x, y, z});
}

Value* Abs(llvm::IRBuilderBase& b, Value* x) {
  return b.CreateUnaryIntrinsic(llvm::Intrinsic::fabs, x);
}

Value* Trunc(llvm::IRBuilderBase& b, Value* x) {
  return b.CreateUnaryIntrinsic(llvm::Intrinsic::trunc, x);
}

Value* CopySign(llvm::IRBuilderBase& b, Value* magnitude, Value* sign) {
  return b.CreateBinaryIntrinsic(llvm::Intrinsic::copysign, magnitude, sign);
}

Value* AtMost(llvm::IRBuilderBase& b, Value* x, double limit) {
  return b.CreateSelect(b.CreateFCmpOGT(x, Real(x, limit)), Real(x, limit), x);
}

Value* AtLeast(llvm::IRBuilderBase& b, Value* x, double limit) {
  return b.CreateSelect(b.CreateFCmpOLT(x, Real(x, limit)), Real(x, limit), x);
}

Value* EvaluatePolynomial(llvm::IRBuilderBase& b, Value* x,
                          std::initializer_list<double> coefficients) {
  const double* next = coefficients.end();
  Value* sum = Real(x, *--next);
  while (next != coefficients.begin()) sum = Fma(b, sum, x, Real(x, *--next));
  return sum;
}

Value* Bits(llvm::IRBuilderBase& b, Value* x) {
  return b.CreateBitCast(x, SameLanes(x, IsDouble(x) ? b.getInt64Ty() : b.getInt32Ty()));
}

Value* FromBits(llvm::IRBuilderBase& b, Value* bits) {
  return b.CreateBitCast(bits, SameLanes(bits, IsDouble(bits) ? b.getDoubleTy() : b.getFloatTy()));
}

// Adding 1.5 * 2^(mantissa bits) leaves the integer in the low bits; unlike a conversion it takes
// NaN.
Nearest NearestInteger(llvm::IRBuilderBase& b, Value* x, double scale) {
  Value* shifter = Real(x, IsDouble(x) ? 0x1.8p52 : 0x1.8p23);
  Value* shifted = Fma(b, x, Real(x, scale), shifter);
  return {b.CreateFSub(shifted, shifter), b.CreateSub(Bits(b, shifted), Bits(b, shifter))};
}

Value* PowerOfTwo(llvm::IRBuilderBase& b, Value* n) {
  Value* biased = b.CreateAdd(n, Int(n, IsDouble(n) ? 1023 : 127));
  return FromBits(b, b.CreateShl(biased, IsDouble(n) ? 52 : 23));
}

Value* ScaleByPowerOfTwo(llvm::IRBuilderBase& b, Value* x, Value* n) {
  int lanes = LanesOf(x);
  if (IsDouble(x) || !HasAvx512(b)) return nullptr;
  if (lanes == 4 || lanes == 8 || lanes == 16) return ScaleVector(b, x, n);
  if (lanes != 32) return nullptr;
  auto half = [&](Value* value, int first) {
    return b.CreateShuffleVector(value, Sequence(first, 16));
  };
  Value* low = ScaleVector(b, half(x, 0), half(n, 0));
  Value* high = ScaleVector(b, half(x, 16), half(n, 16));
  return b.CreateShuffleVector(low, high, Sequence(0, 32));
}

MantissaExponent SplitMantissa(llvm::IRBuilderBase& b, Value* x) {
  // The bits of sqrt(1/2): an x at or above it, but below twice of it, has exponent 0.
  int64_t root_half = IsDouble(x) ? 0x3fe6a09e667f3bcd : 0x3f3504f3;
  int shift = IsDouble(x) ? 52 : 23;
  Value* bits = Bits(b, x);
  Value* exponent = b.CreateAShr(b.CreateSub(bits, Int(bits, root_half)), shift);
  return {FromBits(b, b.CreateSub(bits, b.CreateShl(exponent, shift))), exponent};
}

}  // namespace tcc
