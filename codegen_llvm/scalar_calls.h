#pragma once

#include <vector>

#include "codegen_llvm/kernel_state.h"
#include "ir/expr/scalar_op.h"

namespace tcc {

// Emits op(args) lane by lane, on register forms (llvm_types.h) of type `dtype`. Floats narrower
// than f32 are computed in f32 and rounded once.
llvm::Value* EmitScalarCall(KernelState& state, ScalarOp op, std::vector<llvm::Value*> args,
                            DType dtype);

}  // namespace tcc
