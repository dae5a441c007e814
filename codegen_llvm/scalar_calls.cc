#include "codegen_llvm/scalar_calls.h"

#include <llvm/IR/IRBuilder.h>

#include <cstddef>

#include "codegen_llvm/convert.h"
#include "codegen_llvm/float_algebra.h"
#include "codegen_llvm/integer_ops.h"
#include "codegen_llvm/llvm_types.h"
#include "codegen_llvm/math_f32.h"
#include "codegen_llvm/word_dots.h"
#include "runtime/artefact/kernel_abi.h"
#include "support/check.h"

namespace tcc {
namespace {

using llvm::Value;
using Args = std::vector<Value*>;

Value* FloatSign(llvm::IRBuilderBase& b, Value* x) {
  Value* one = b.CreateBinaryIntrinsic(llvm::Intrinsic::copysign, Real(x, 1), x);
  // Zeros give 0, NaN gives itself.
  Value* quiet = b.CreateSelect(b.CreateFCmpOEQ(x, Real(x, 0)), Real(x, 0), one);
  return b.CreateSelect(b.CreateFCmpUNO(x, x), x, quiet);
}

bool IsDouble(Value* x) {
  return x->getType()->getScalarType()->isDoubleTy();
}

// Emits a call of TccRuntime::math for every lane: f64 directly, f32 through f64, so that the
// result has at most one ulp of error. `function` is a TCC_MATH code; `y` may be null.
Value* EmitRuntimeMath(KernelState& state, int32_t function, Value* x, Value* y) {
  llvm::IRBuilderBase& b = state.builder;
  llvm::Type* f64 = b.getDoubleTy();
  llvm::Type* type = x->getType();
  bool is_double = IsDouble(x);
  if (!y) y = llvm::Constant::getNullValue(type);
  auto* signature = llvm::FunctionType::get(f64, {b.getInt32Ty(), f64, f64}, false);
  Value* entry = RuntimeEntry(state, offsetof(TccRuntime, math));
  state.needs.math_functions |= uint32_t{1} << function;

  auto call = [&](Value* first, Value* second) -> Value* {
    if (!is_double) first = b.CreateFPExt(first, f64);
    if (!is_double) second = b.CreateFPExt(second, f64);
    llvm::CallInst* result = b.CreateCall(signature, entry, {b.getInt32(function), first, second});
    result->setDoesNotAccessMemory();
    result->setDoesNotThrow();
    return is_double ? result : b.CreateFPTrunc(result, type->getScalarType());
  };
  int lanes = LanesOf(x);
  if (lanes == 1) return call(x, y);
  Value* results = llvm::PoisonValue::get(type);
  for (int lane = 0; lane < lanes; ++lane) {
    Value* result = call(b.CreateExtractElement(x, lane), b.CreateExtractElement(y, lane));
    results = b.CreateInsertElement(results, result, lane);
  }
  return results;
}

Value* Exp(KernelState& state, Value* x) {
  return IsDouble(x) ? EmitRuntimeMath(state, TCC_MATH_EXP, x, nullptr)
                     : EmitExpF32(state.builder, x);
}

Value* Sigmoid(KernelState& state, Value* x) {
  llvm::IRBuilderBase& b = state.builder;
  if (!IsDouble(x)) return EmitSigmoidF32(b, x);
  Value* decay = Exp(state, b.CreateFNeg(Abs(b, x)));
  Value* numerator = b.CreateSelect(b.CreateFCmpOLT(x, Real(x, 0)), decay, Real(x, 1));
  return b.CreateFDiv(numerator, b.CreateFAdd(Real(x, 1), decay));
}

Value* ExpDiff(KernelState& state, Value* x, Value* y) {
  llvm::IRBuilderBase& b = state.builder;
  Value* power = Exp(state, b.CreateFSub(x, y));
  return b.CreateSelect(b.CreateFCmpOEQ(x, y), Real(x, 1), power);
}

// Emits sin or cos. The runtime reduces angles that are too large for the generated code, in a
// branch that is hardly ever taken.
Value* SineOrCosine(KernelState& state, ScalarOp op, Value* x) {
  llvm::IRBuilderBase& b = state.builder;
  bool is_sine = op == ScalarOp::kSin;
  int32_t function = is_sine ? TCC_MATH_SIN : TCC_MATH_COS;
  if (IsDouble(x)) return EmitRuntimeMath(state, function, x, nullptr);
  Value* fast = is_sine ? EmitSinF32(b, x) : EmitCosF32(b, x);
  Value* large = b.CreateFCmpOGE(Abs(b, x), Real(x, kMaxAngleF32));
  if (large->getType()->isVectorTy()) large = b.CreateOrReduce(large);
  llvm::BasicBlock* before = b.GetInsertBlock();
  llvm::BasicBlock* reduce = llvm::BasicBlock::Create(b.getContext(), "large", state.function);
  llvm::BasicBlock* after = llvm::BasicBlock::Create(b.getContext(), "after", state.function);
  b.CreateCondBr(large, reduce, after);
  b.SetInsertPoint(reduce);
  Value* slow = EmitRuntimeMath(state, function, x, nullptr);
  b.CreateBr(after);
  b.SetInsertPoint(after);
  llvm::PHINode* result = b.CreatePHI(x->getType(), 2);
  result->addIncoming(fast, before);
  result->addIncoming(slow, reduce);
  return result;
}

// Emits a call on f32 or f64.
Value* FloatCall(KernelState& state, ScalarOp op, const Args& args) {
  llvm::IRBuilderBase& b = state.builder;
  Value* x = args[0];
  Value* y = args.size() > 1 ? args[1] : nullptr;
  auto runtime = [&](int32_t function) { return EmitRuntimeMath(state, function, x, y); };
  auto intrinsic = [&](llvm::Intrinsic::ID id) { return b.CreateUnaryIntrinsic(id, x); };
  switch (op) {
    case ScalarOp::kExp:
      return Exp(state, x);
    case ScalarOp::kLog:
      return IsDouble(x) ? runtime(TCC_MATH_LOG) : EmitLogF32(b, x);
    case ScalarOp::kLog1p:
      return IsDouble(x) ? runtime(TCC_MATH_LOG1P) : EmitLog1pF32(b, x);
    case ScalarOp::kSqrt:
      return intrinsic(llvm::Intrinsic::sqrt);
    case ScalarOp::kRsqrt:
      return b.CreateFDiv(Real(x, 1), intrinsic(llvm::Intrinsic::sqrt));
    case ScalarOp::kSin:
    case ScalarOp::kCos:
      return SineOrCosine(state, op, x);
    case ScalarOp::kTan:
      return runtime(TCC_MATH_TAN);
    case ScalarOp::kAsin:
      return runtime(TCC_MATH_ASIN);
    case ScalarOp::kAcos:
      return runtime(TCC_MATH_ACOS);
    case ScalarOp::kAtan:
      return runtime(TCC_MATH_ATAN);
    case ScalarOp::kSinh:
      return runtime(TCC_MATH_SINH);
    case ScalarOp::kCosh:
      return runtime(TCC_MATH_COSH);
    case ScalarOp::kAsinh:
      return runtime(TCC_MATH_ASINH);
    case ScalarOp::kAcosh:
      return runtime(TCC_MATH_ACOSH);
    case ScalarOp::kAtanh:
      return runtime(TCC_MATH_ATANH);
    case ScalarOp::kTanh:
      return IsDouble(x) ? runtime(TCC_MATH_TANH) : EmitTanhF32(b, x);
    case ScalarOp::kErf:
      return IsDouble(x) ? runtime(TCC_MATH_ERF) : EmitErfF32(b, x);
    case ScalarOp::kSigmoid:
      return Sigmoid(state, x);
    case ScalarOp::kFloor:
      return intrinsic(llvm::Intrinsic::floor);
    case ScalarOp::kCeil:
      return intrinsic(llvm::Intrinsic::ceil);
    case ScalarOp::kRound:
      return intrinsic(llvm::Intrinsic::roundeven);
    case ScalarOp::kTrunc:
      return intrinsic(llvm::Intrinsic::trunc);
    case ScalarOp::kAbs:
      return intrinsic(llvm::Intrinsic::fabs);
    case ScalarOp::kSign:
      return FloatSign(b, x);
    case ScalarOp::kPow:
      return IsDouble(x) ? runtime(TCC_MATH_POW) : EmitPowF32(b, x, y);
    case ScalarOp::kFMod:
      return runtime(TCC_MATH_FMOD);
    case ScalarOp::kExpDiff:
      return ExpDiff(state, x, y);
    case ScalarOp::kIsNan:
      return b.CreateFCmpUNO(x, x);
    case ScalarOp::kIsInf: {
      Value* infinity = llvm::ConstantFP::getInfinity(x->getType());
      return b.CreateFCmpOEQ(intrinsic(llvm::Intrinsic::fabs), infinity);
    }
    case ScalarOp::kTruncDiv:
    case ScalarOp::kTruncMod:
    case ScalarOp::kBitAnd:
    case ScalarOp::kBitOr:
    case ScalarOp::kBitXor:
    case ScalarOp::kBitNot:
    case ScalarOp::kPopcount:
    case ScalarOp::kShiftLeft:
    case ScalarOp::kShiftRight:
    case ScalarOp::kDotI16x2:
    case ScalarOp::kDotU8I8x4:
    case ScalarOp::kDotI8I8x4:
    case ScalarOp::kPackBf16x2:
    case ScalarOp::kDotBf16x2:
      TCC_UNREACHABLE();
  }
  TCC_UNREACHABLE();
}

Value* IntegerSign(llvm::IRBuilderBase& b, Value* x, bool is_signed) {
  Value* zero = llvm::Constant::getNullValue(x->getType());
  Value* positive = b.CreateZExt(b.CreateICmpNE(x, zero), x->getType());
  if (!is_signed) return positive;
  return b.CreateOr(b.CreateSExt(b.CreateICmpSLT(x, zero), x->getType()), positive);
}

Value* IntegerCall(llvm::IRBuilderBase& b, ScalarOp op, const Args& args, DType dtype) {
  bool is_signed = dtype.is_signed_integer();
  Value* x = args[0];
  Value* y = args.size() > 1 ? args[1] : nullptr;
  if (op == ScalarOp::kTruncDiv) return EmitTruncDiv(b, x, y, dtype);
  if (op == ScalarOp::kTruncMod) return EmitTruncMod(b, x, y, dtype);
  if (op == ScalarOp::kBitAnd) return b.CreateAnd(x, y);
  if (op == ScalarOp::kBitOr) return b.CreateOr(x, y);
  if (op == ScalarOp::kBitXor) return b.CreateXor(x, y);
  if (op == ScalarOp::kBitNot) return b.CreateNot(x);
  if (op == ScalarOp::kPopcount) return b.CreateUnaryIntrinsic(llvm::Intrinsic::ctpop, x);
  if (op == ScalarOp::kSign) return IntegerSign(b, x, is_signed);
  if (op == ScalarOp::kAbs) {
    return is_signed ? b.CreateBinaryIntrinsic(llvm::Intrinsic::abs, x, b.getFalse()) : x;
  }
  return EmitShift(b, op, x, y);
}

}  // namespace

Value* EmitScalarCall(KernelState& state, ScalarOp op, std::vector<Value*> args, DType dtype) {
  llvm::IRBuilderBase& b = state.builder;
  if (op == ScalarOp::kDotI16x2) return EmitDotOfHalves(state, args[0], args[1]);
  if (op == ScalarOp::kDotU8I8x4 || op == ScalarOp::kDotI8I8x4) {
    return EmitDotOfBytes(state, op, Int(args[0], 0), args[0], args[1]);
  }
  if (op == ScalarOp::kPackBf16x2) return EmitPackOfBFloats(state, args[0], args[1]);
  if (op == ScalarOp::kDotBf16x2) {
    Value* zero = llvm::Constant::getNullValue(SameLanes(args[0], b.getFloatTy()));
    return EmitDotOfBFloats(state, zero, args[0], args[1]);
  }
  if (!dtype.is_float()) return IntegerCall(b, op, args, dtype);
  if (op == ScalarOp::kAbs && dtype.bits() == 16) return b.CreateAnd(args[0], Int(args[0], 0x7fff));
  for (Value*& arg : args) arg = Widen(b, arg, dtype);
  Value* result = FloatCall(state, op, args);
  return RowOf(op).rule == ScalarTypeRule::kTest ? result : Narrow(b, result, dtype);
}

}  // namespace tcc
