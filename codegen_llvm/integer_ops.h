#pragma once

#include "codegen_llvm/llvm_forward.h"
#include "ir/expr/expr.h"

// Integer division, shifts and the like, lane by lane, with the semantics of ir/expr/expr.h and
// ir/expr/scalar_op.h.
namespace tcc {

// What is known of the operands; saves the correction of a signed division.
enum class Sign { kAny, kNonNegative };

// kFloorDiv, kFloorMod and kCeilDiv; the divisor is >= 1.
llvm::Value* EmitRoundedDivision(llvm::IRBuilderBase& b, ExprKind kind, llvm::Value* x,
                                 llvm::Value* y, DType dtype, Sign sign);

// Toward zero. The smallest integer by -1 wraps to itself, the remainder is 0; neither traps.
llvm::Value* EmitTruncDiv(llvm::IRBuilderBase& b, llvm::Value* x, llvm::Value* y, DType dtype);
llvm::Value* EmitTruncMod(llvm::IRBuilderBase& b, llvm::Value* x, llvm::Value* y, DType dtype);

// 0 for a count of the width or more; kShiftRight is of the unsigned value.
llvm::Value* EmitShift(llvm::IRBuilderBase& b, ScalarOp op, llvm::Value* x, llvm::Value* count);

}  // namespace tcc
