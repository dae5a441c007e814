#include "codegen_llvm/float16_order.h"

#include <llvm/IR/IRBuilder.h>

#include "codegen_llvm/float_algebra.h"

namespace tcc {
namespace {

using llvm::Value;

// Maps sign and magnitude to a two's complement integer of the same order, and back.
Value* TurnNegatives(llvm::IRBuilderBase& b, Value* bits) {
  Value* sign = b.CreateAShr(bits, 15);
  return b.CreateXor(bits, b.CreateAnd(sign, Int(bits, 0x7fff)));
}

// Returns the number of NaNs of each sign: the bit patterns beyond the infinity.
int64_t NansOfSign(DType dtype) {
  return dtype.code() == DTypeCode::kBFloat16 ? 0x7f : 0x3ff;
}

}  // namespace

// The NaNs lie at both ends of the order, by sign. Adding their number, with wraparound, moves all
// of them to the end that wins.
Value* EmitMinMax16(llvm::IRBuilderBase& b, bool is_min, Value* x, Value* y, DType dtype) {
  Value* shift = Int(x, is_min ? NansOfSign(dtype) : -NansOfSign(dtype));
  auto key = [&](Value* bits) { return b.CreateAdd(TurnNegatives(b, bits), shift); };
  auto pick = is_min ? llvm::Intrinsic::smin : llvm::Intrinsic::smax;
  return TurnNegatives(b, b.CreateSub(b.CreateBinaryIntrinsic(pick, key(x), key(y)), shift));
}

}  // namespace tcc
