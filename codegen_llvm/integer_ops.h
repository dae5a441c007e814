#pragma once

#include "codegen_llvm/llvm_forward.h"
#include "ir/expr/expr.h"

// Integer division, shifts and the like, lane by lane, with the semantics of ir/expr/expr.h and
// ir/expr/scalar_op.h.
namespace tcc {

// The known sign of the operands; kNonNegative saves the correction of a signed division.
enum class Sign { kAny, kNonNegative };

// Emits kFloorDiv, kFloorMod or kCeilDiv; the divisor is >= 1.
llvm::Value* EmitRoundedDivision(llvm::IRBuilderBase& b, ExprKind kind, llvm::Value* x,
                                 llvm::Value* y, DType dtype, Sign sign);

// Emits a quotient rounded toward zero, or its remainder. The smallest integer by -1 wraps to
// itself with remainder 0; neither traps.
llvm::Value* EmitTruncDiv(llvm::IRBuilderBase& b, llvm::Value* x, llvm::Value* y, DType dtype);
llvm::Value* EmitTruncMod(llvm::IRBuilderBase& b, llvm::Value* x, llvm::Value* y, DType dtype);

// Emits a shift, which is 0 for a count of the width or more; kShiftRight is logical.
llvm::Value* EmitShift(llvm::IRBuilderBase& b, ScalarOp op, llvm::Value* x, llvm::Value* count);

}  // namespace tcc
