#include "codegen_llvm/float16_order.h"

#include <llvm/IR/IRBuilder.h>

#include "codegen_llvm/float_algebra.h"

namespace tcc {
namespace {

using llvm::Value;

// Sign and magnitude to an integer in two's complement in the same order, and back.
Value* TurnNegatives(llvm::IRBuilderBase& b, Value* bits) {
  Value* sign = b.CreateAShr(bits, 15);
  return b.CreateXor(bits, b.CreateAnd(sign, Int(bits, 0x7fff)));
}

// How many bit patterns there are between an infinity and the end of its sign: NaNs.
int64_t NansOfSign(DType dtype) {
  return dtype.code() == DTypeCode::kBFloat16 ? 0x7f : 0x3ff;
}

}  // namespace

// NaNs of either sign stand at both ends of the order. Shifted by their number, which wraps round,
// all stand at the end that wins.
Value* EmitMinMax16(llvm::IRBuilderBase& b, bool is_min, Value* x, Value* y, DType dtype) {
  Value* shift = Int(x, is_min ? NansOfSign(dtype) : -NansOfSign(dtype));
  auto key = [&](Value* bits) { return b.CreateAdd(TurnNegatives(b, bits), shift); };
  auto pick = is_min ? llvm::Intrinsic::smin : llvm::Intrinsic::smax;
  return TurnNegatives(b, b.CreateSub(b.CreateBinaryIntrinsic(pick, key(x), key(y)), shift));
}

}  // namespace tcc
