#pragma once

#include "codegen_llvm/llvm_forward.h"
#include "support/dtype.h"

namespace tcc {

// Emits the minimum or maximum of 16-bit floats (f16 or bf16 in their register form, 16 bits per
// lane): NaN if either is, and -0 < +0. It compares the bits as integers, which needs no conversion
// and handles twice as many lanes per instruction as f32.
llvm::Value* EmitMinMax16(llvm::IRBuilderBase& b, bool is_min, llvm::Value* x, llvm::Value* y,
                          DType dtype);

}  // namespace tcc
