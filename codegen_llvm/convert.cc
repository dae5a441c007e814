#include "codegen_llvm/convert.h"

#include <llvm/IR/IRBuilder.h>

#include "codegen_llvm/float_algebra.h"
#include "codegen_llvm/llvm_types.h"
#include "support/storage_types.h"

namespace tcc {
namespace {

using llvm::Value;

// Converts f16 bits to f32 behind a fence. Without it, LLVM would compute in f16 where it sees that
// a value is one, and on CPUs without f16 vectors compare and round lane by lane.
Value* FromHalfBits(llvm::IRBuilderBase& b, Value* i16) {
  Value* half = b.CreateBitCast(i16, SameLanes(i16, b.getHalfTy()));
  Value* f32 = b.CreateFPExt(half, SameLanes(i16, b.getFloatTy()));
  if (LanesOf(f32) == 1 || llvm::isa<llvm::Constant>(f32)) return f32;
  return b.CreateUnaryIntrinsic(llvm::Intrinsic::arithmetic_fence, f32);
}

Value* ToHalfBits(llvm::IRBuilderBase& b, Value* f32) {
  Value* half = b.CreateFPTrunc(f32, SameLanes(f32, b.getHalfTy()));
  return b.CreateBitCast(half, SameLanes(half, b.getInt16Ty()));
}

// vcvtneps2bf16 would flush subnormals, so the rounding is done on the bits.
Value* ToBFloatBits(llvm::IRBuilderBase& b, Value* f32) {
  Value* bits = Bits(b, f32);
  Value* high = b.CreateLShr(bits, 16);
  Value* odd = b.CreateAnd(high, Int(bits, 1));
  Value* rounded = b.CreateLShr(b.CreateAdd(b.CreateAdd(bits, Int(bits, 0x7fff)), odd), 16);
  Value* quiet = b.CreateOr(high, Int(bits, 0x40));
  Value* result = b.CreateSelect(b.CreateFCmpUNO(f32, f32), quiet, rounded);
  return b.CreateTrunc(result, SameLanes(result, b.getInt16Ty()));
}

// Drops the last 13 bits, halves away from zero. An infinity stays; a NaN is made quiet, or it
// could lose all its bits.
Value* ToTFloatBits(llvm::IRBuilderBase& b, Value* f32) {
  Value* bits = Bits(b, f32);
  Value* up = b.CreateAdd(bits, Int(bits, 0x1000));
  Value* quiet = b.CreateOr(bits, Int(bits, 0x400000));
  return b.CreateAnd(b.CreateSelect(b.CreateFCmpUNO(f32, f32), quiet, up), Int(bits, 0xffffe000));
}

// Rounds f64 to f32 "to odd": a second rounding to a narrower float then gives the same as one from
// f64 would (Boldo, Melquiond 2008).
Value* RoundToOdd(llvm::IRBuilderBase& b, Value* f64) {
  Value* f32 = b.CreateFPTrunc(f64, SameLanes(f64, b.getFloatTy()));
  Value* back = b.CreateFPExt(f32, f64->getType());
  Value* bits = Bits(b, f32);
  Value* over = b.CreateFCmpOGT(Abs(b, back), Abs(b, f64));
  Value* toward_zero = b.CreateSelect(over, b.CreateSub(bits, Int(bits, 1)), bits);
  Value* inexact = b.CreateFCmpONE(back, f64);
  return FromBits(b, b.CreateSelect(inexact, b.CreateOr(toward_zero, Int(bits, 1)), bits));
}

// e5m2 is the upper half of an f16. e4m3 has a bias of 7, no infinity and one NaN: as an f16 of the
// same fields it is 2^8 too small, subnormals included.
Value* WidenFloat8(llvm::IRBuilderBase& b, Value* bits8, DType dtype) {
  Value* wide = b.CreateZExt(bits8, SameLanes(bits8, b.getInt16Ty()));
  if (dtype.code() == DTypeCode::kFloat8E5M2) return FromHalfBits(b, b.CreateShl(wide, 8));
  Value* sign = b.CreateShl(b.CreateAnd(wide, Int(wide, 0x80)), 8);
  Value* magnitude = b.CreateAnd(wide, Int(wide, 0x7f));
  Value* f32 = FromHalfBits(b, b.CreateOr(sign, b.CreateShl(magnitude, 7)));
  f32 = b.CreateFMul(f32, llvm::ConstantFP::get(f32->getType(), 256.0));
  Value* nan = llvm::ConstantFP::getNaN(f32->getType());
  return b.CreateSelect(b.CreateICmpEQ(magnitude, Int(wide, 0x7f)), nan, f32);
}

// Rounds |x| to `mantissa` bits, not below the spacing of subnormals: adding 2^23 spacings (in f32
// arithmetic) leaves a multiple of the spacing.
Value* NarrowFloat8(llvm::IRBuilderBase& b, Value* f32, DType dtype) {
  bool e5m2 = dtype.code() == DTypeCode::kFloat8E5M2;
  int mantissa = e5m2 ? 2 : 3;
  int smallest = e5m2 ? -14 : -6;  // exponent of the smallest normal number
  llvm::Type* type = f32->getType();
  Value* largest = llvm::ConstantFP::get(type, e5m2 ? 57344.0 : 448.0);
  Value* magnitude = AtMost(b, Abs(b, f32), e5m2 ? 57344.0 : 448.0);
  Value* bits = Bits(b, magnitude);
  Value* exponent = b.CreateSub(b.CreateLShr(bits, 23), Int(bits, 127));
  Value* floor = Int(bits, smallest);
  exponent = b.CreateSelect(b.CreateICmpSLT(exponent, floor), floor, exponent);
  Value* shifter =
      FromBits(b, b.CreateShl(b.CreateAdd(exponent, Int(bits, 127 + 23 - mantissa)), 23));
  Value* rounded = b.CreateFSub(b.CreateFAdd(magnitude, shifter), shifter);
  rounded = b.CreateSelect(b.CreateFCmpOGT(rounded, largest), largest, rounded);
  // Now exact in the narrow format; an f16 of the same value holds its fields.
  Value* scale = llvm::ConstantFP::get(type, e5m2 ? 1.0 : 0x1p-8);
  Value* half = ToHalfBits(b, b.CreateFMul(rounded, scale));
  Value* fields = b.CreateLShr(half, e5m2 ? 8 : 7);
  fields = b.CreateSelect(b.CreateFCmpUNO(f32, f32), Int(fields, 0x7f), fields);
  Value* sign = b.CreateLShr(b.CreateAnd(Bits(b, f32), Int(bits, 0x80000000)), 24);
  sign = b.CreateTrunc(sign, fields->getType());
  Value* result = b.CreateOr(fields, sign);
  return b.CreateTrunc(result, SameLanes(result, b.getInt8Ty()));
}

// Converts to an integer of up to 16 bits, by way of i32: LLVM's own saturating conversion to these
// types goes lane by lane.
Value* FloatToNarrowInteger(llvm::IRBuilderBase& b, Value* value, DType to, llvm::Type* type) {
  auto number = [&](int64_t bound) {
    return llvm::ConstantFP::get(value->getType(), static_cast<double>(bound));
  };
  Value* low = number(MinValue(to));
  Value* high = number(MaxValue(to));
  // A NaN becomes 0, which is the lowest unsigned number.
  if (to.is_signed_integer())
    value = b.CreateSelect(b.CreateFCmpUNO(value, value), number(0), value);
  value = b.CreateSelect(b.CreateFCmpOGT(value, low), value, low);
  value = b.CreateSelect(b.CreateFCmpOLT(value, high), value, high);
  return b.CreateTrunc(b.CreateFPToSI(value, SameLanes(value, b.getInt32Ty())), type);
}

// Converts vectors of f32 to i32. For x86 LLVM does so lane by lane where it must saturate.
Value* FloatsToWords(llvm::IRBuilderBase& b, Value* value, llvm::Type* type) {
  constexpr double kBeyond = 0x1p31, kLast = 0x1.fffffep30;
  Value* above =
      b.CreateSelect(b.CreateFCmpOGT(value, Real(value, -kBeyond)), value, Real(value, -kBeyond));
  Value* inside =
      b.CreateSelect(b.CreateFCmpOLT(above, Real(value, kLast)), above, Real(value, kLast));
  Value* words = b.CreateFPToSI(inside, type);
  words =
      b.CreateSelect(b.CreateFCmpOGE(value, Real(value, kBeyond)), Int(words, INT32_MAX), words);
  return b.CreateSelect(b.CreateFCmpUNO(value, value), Int(words, 0), words);
}

Value* FloatToInteger(llvm::IRBuilderBase& b, Value* value, DType to) {
  llvm::Type* type = SameLanes(value, RegisterType(b.getContext(), to.element()));
  if (to.is_integer() && to.bits() <= 16) return FloatToNarrowInteger(b, value, to, type);
  bool is_f32 = value->getType()->getScalarType()->isFloatTy();
  if (is_f32 && to.element() == kInt32 && LanesOf(value) > 1 && IsForX86(b)) {
    return FloatsToWords(b, value, type);
  }
  llvm::Intrinsic::ID saturate =
      to.is_signed_integer() ? llvm::Intrinsic::fptosi_sat : llvm::Intrinsic::fptoui_sat;
  return b.CreateIntrinsic(saturate, {type, value->getType()}, {value});
}

// Packed types stand in an i8.
Value* FloatToSubByte(llvm::IRBuilderBase& b, Value* value, DType to) {
  bool is_signed = MinValue(to) < 0;
  value = FloatToInteger(b, value, is_signed ? DTypeCode::kInt8 : DTypeCode::kUInt8);
  llvm::Intrinsic::ID least = is_signed ? llvm::Intrinsic::smin : llvm::Intrinsic::umin;
  value = b.CreateBinaryIntrinsic(least, value, Int(value, MaxValue(to)));
  if (!is_signed) return value;
  return b.CreateBinaryIntrinsic(llvm::Intrinsic::smax, value, Int(value, MinValue(to)));
}

Value* IntegerToFloat(llvm::IRBuilderBase& b, Value* value, bool is_signed, DType to) {
  // 16-bit types go over f64, rounded once: exact for all integers up to 2^53.
  llvm::Type* element = to.element() == kFloat32 ? b.getFloatTy() : b.getDoubleTy();
  llvm::Type* type = SameLanes(value, element);
  return is_signed ? b.CreateSIToFP(value, type) : b.CreateUIToFP(value, type);
}

// Converts f32 or f64 to any float.
Value* FloatToFloat(llvm::IRBuilderBase& b, Value* value, DType to) {
  bool is_double = value->getType()->getScalarType()->isDoubleTy();
  if (to.element() == kFloat64)
    return is_double ? value : b.CreateFPExt(value, SameLanes(value, b.getDoubleTy()));
  if (to.element() == kFloat32)
    return is_double ? b.CreateFPTrunc(value, SameLanes(value, b.getFloatTy())) : value;
  return Narrow(b, is_double ? RoundToOdd(b, value) : value, to);
}

// Packed types keep their value extended to the i8 they stand in.
Value* WrapSubByte(llvm::IRBuilderBase& b, Value* value, DType to) {
  const auto unused = static_cast<uint64_t>(8 - to.bits());
  value = b.CreateShl(value, unused);
  return IsSigned(to) ? b.CreateAShr(value, unused) : b.CreateLShr(value, unused);
}

Value* ToInteger(llvm::IRBuilderBase& b, Value* value, DType from, DType to) {
  if (HoldsFloats(from)) {
    value = Widen(b, value, from);
    return IsPacked(to) ? FloatToSubByte(b, value, to) : FloatToInteger(b, value, to);
  }
  llvm::Type* type = SameLanes(value, RegisterType(b.getContext(), to.element()));
  value = b.CreateIntCast(value, type, IsSigned(from));
  return IsPacked(to) ? WrapSubByte(b, value, to) : value;
}

}  // namespace

Value* Widen(llvm::IRBuilderBase& b, Value* value, DType dtype) {
  if (dtype.element() == kFloat16) return FromHalfBits(b, value);
  if (dtype.code() == DTypeCode::kBFloat16) {
    return FromBits(b, b.CreateShl(b.CreateZExt(value, SameLanes(value, b.getInt32Ty())), 16));
  }
  if (dtype.code() == DTypeCode::kTFloat32) return FromBits(b, value);
  return IsFloat8(dtype) ? WidenFloat8(b, value, dtype) : value;
}

Value* Narrow(llvm::IRBuilderBase& b, Value* value, DType dtype) {
  if (dtype.element() == kFloat16) return ToHalfBits(b, value);
  if (dtype.code() == DTypeCode::kBFloat16) return ToBFloatBits(b, value);
  if (dtype.code() == DTypeCode::kTFloat32) return ToTFloatBits(b, value);
  return IsFloat8(dtype) ? NarrowFloat8(b, value, dtype) : value;
}

Value* Convert(llvm::IRBuilderBase& b, Value* value, DType from, DType to) {
  if (from.element() == to.element()) return value;
  bool from_float = HoldsFloats(from);
  bool to_float = HoldsFloats(to);
  if (to.is_bool()) {
    if (!from_float) return b.CreateICmpNE(value, Int(value, 0));
    value = Widen(b, value, from);
    return b.CreateFCmpUNE(value, llvm::ConstantFP::get(value->getType(), 0.0));
  }
  if (!to_float) return ToInteger(b, value, from, to);
  if (from_float) return FloatToFloat(b, Widen(b, value, from), to);
  return FloatToFloat(b, IntegerToFloat(b, value, IsSigned(from), to), to);
}

}  // namespace tcc
