#pragma once

#include "codegen_llvm/llvm_forward.h"
#include "support/dtype.h"

// Conversions between the register forms of llvm_types.h, lane by lane. None of them calls a
// library. Each rounds once, to nearest even, even from f64 to 16 bits.
namespace tcc {

// Widens f16, bf16 and f8 to f32, exactly; f32 and f64 stay.
llvm::Value* Widen(llvm::IRBuilderBase& b, llvm::Value* value, DType dtype);
// Narrows a value of the type that Widen returns for `dtype` to `dtype`.
llvm::Value* Narrow(llvm::IRBuilderBase& b, llvm::Value* value, DType dtype);

// Emits a Cast (ir/expr/expr.h). A cast to f8 saturates at the largest finite value, as in ONNX by
// default; a cast to i4, u4, i2 or u2 wraps.
llvm::Value* Convert(llvm::IRBuilderBase& b, llvm::Value* value, DType from, DType to);

}  // namespace tcc
