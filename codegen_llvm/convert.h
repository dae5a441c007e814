#pragma once

#include "codegen_llvm/llvm_forward.h"
#include "support/dtype.h"

// Conversions between the register forms of llvm_types.h, lane by lane. None of them calls a
// library. Rounding is to nearest even, once, also from f64 to 16 bits.
namespace tcc {

// f16, bf16, f8 -> f32; f32 and f64 stay. Exact.
llvm::Value* Widen(llvm::IRBuilderBase& b, llvm::Value* value, DType dtype);
// A value of the type that Widen gives for it to `dtype`.
llvm::Value* Narrow(llvm::IRBuilderBase& b, llvm::Value* value, DType dtype);

// Cast (ir/expr/expr.h). To f8 saturates at the largest finite value, as ONNX does by default; to
// i4 and u4 wraps.
llvm::Value* Convert(llvm::IRBuilderBase& b, llvm::Value* value, DType from, DType to);

}  // namespace tcc
