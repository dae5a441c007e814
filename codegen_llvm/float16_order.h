#pragma once

#include "codegen_llvm/llvm_forward.h"
#include "support/dtype.h"

namespace tcc {

// The smaller or the larger of 16-bit floats (f16, bf16; in their register form, 16 bits a lane),
// NaN if either is, -0 < +0. On the bits, as integers: twice as many lanes an instruction as in
// f32, and nothing is converted.
llvm::Value* EmitMinMax16(llvm::IRBuilderBase& b, bool is_min, llvm::Value* x, llvm::Value* y,
                          DType dtype);

}  // namespace tcc
