#pragma once

#include <cstdint>

#include "codegen_llvm/kernel_state.h"

namespace tcc {

// Emits a call of TccRuntime::math for every lane: f64 directly, f32 through f64, so that the
// result has at most one ulp of error. `function` is a TCC_MATH code; `y` may be null.
llvm::Value* EmitRuntimeMath(KernelState& state, int32_t function, llvm::Value* x, llvm::Value* y);

}  // namespace tcc
