#include "codegen_llvm/integer_ops.h"

#include <llvm/IR/IRBuilder.h>

#include "codegen_llvm/float_algebra.h"
#include "support/check.h"

namespace tcc {
namespace {

using llvm::Value;

Value* UnsignedDivision(llvm::IRBuilderBase& b, ExprKind kind, Value* x, Value* y) {
  if (kind == ExprKind::kFloorMod) return b.CreateURem(x, y);
  Value* quotient = b.CreateUDiv(x, y);
  if (kind == ExprKind::kFloorDiv) return quotient;
  Value* rest = b.CreateSub(x, b.CreateMul(quotient, y));
  Value* up = b.CreateICmpNE(rest, Int(x, 0));
  return b.CreateAdd(quotient, b.CreateZExt(up, x->getType()));
}

Value* SignedDivision(llvm::IRBuilderBase& b, ExprKind kind, Value* x, Value* y) {
  Value* zero = Int(x, 0);
  Value* quotient = b.CreateSDiv(x, y);
  Value* rest = b.CreateSub(x, b.CreateMul(quotient, y));
  if (kind == ExprKind::kCeilDiv)
    return b.CreateAdd(quotient, b.CreateZExt(b.CreateICmpSGT(rest, zero), x->getType()));
  Value* negative = b.CreateICmpSLT(rest, zero);
  if (kind == ExprKind::kFloorMod) return b.CreateSelect(negative, b.CreateAdd(rest, y), rest);
  return b.CreateAdd(quotient, b.CreateSExt(negative, x->getType()));
}

// Returns log2 of a constant power of two (or a splat of one), -1 for anything else.
int ExactLog2(Value* y) {
  auto* constant = llvm::dyn_cast<llvm::Constant>(y);
  if (!constant) return -1;
  if (constant->getType()->isVectorTy()) constant = constant->getSplatValue();
  auto* integer = llvm::dyn_cast_or_null<llvm::ConstantInt>(constant);
  return integer ? integer->getValue().exactLogBase2() : -1;
}

}  // namespace

Value* EmitRoundedDivision(llvm::IRBuilderBase& b, ExprKind kind, Value* x, Value* y, DType dtype,
                           Sign sign) {
  if (!dtype.is_signed_integer() || sign == Sign::kNonNegative)
    return UnsignedDivision(b, kind, x, y);
  // An arithmetic shift already rounds toward minus infinity.
  if (int shift = ExactLog2(y); shift >= 0) {
    if (kind == ExprKind::kFloorDiv) return b.CreateAShr(x, shift);
    if (kind == ExprKind::kFloorMod) return b.CreateAnd(x, b.CreateSub(y, Int(y, 1)));
  }
  return SignedDivision(b, kind, x, y);
}

Value* EmitTruncDiv(llvm::IRBuilderBase& b, Value* x, Value* y, DType dtype) {
  if (!dtype.is_signed_integer()) return b.CreateUDiv(x, y);
  Value* minus_one = b.CreateICmpEQ(y, Int(y, -1));
  Value* divisor = b.CreateSelect(minus_one, Int(y, 1), y);
  return b.CreateSelect(minus_one, b.CreateNeg(x), b.CreateSDiv(x, divisor));
}

Value* EmitTruncMod(llvm::IRBuilderBase& b, Value* x, Value* y, DType dtype) {
  if (!dtype.is_signed_integer()) return b.CreateURem(x, y);
  Value* minus_one = b.CreateICmpEQ(y, Int(y, -1));
  Value* divisor = b.CreateSelect(minus_one, Int(y, 1), y);
  return b.CreateSRem(x, divisor);
}

Value* EmitShift(llvm::IRBuilderBase& b, ScalarOp op, Value* x, Value* count) {
  TCC_CHECK(op == ScalarOp::kShiftLeft || op == ScalarOp::kShiftRight) << static_cast<int>(op);
  Value* width = Int(x, x->getType()->getScalarSizeInBits());
  Value* in_range = b.CreateICmpULT(count, width);
  Value* amount = b.CreateSelect(in_range, count, Int(x, 0));
  Value* shifted = op == ScalarOp::kShiftLeft ? b.CreateShl(x, amount) : b.CreateLShr(x, amount);
  return b.CreateSelect(in_range, shifted, Int(x, 0));
}

}  // namespace tcc
