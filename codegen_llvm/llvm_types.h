#pragma once

#include "codegen_llvm/llvm_forward.h"
#include "support/dtype.h"

namespace tcc {

// How a value of a type stands in a register: bool as i1, integers as iN, f32 and f64 as
// themselves, and all smaller floats as the iN of their bits, so that LLVM never rounds or converts
// them behind our back (convert.h does). i4 and u4 stand in an i8, extended by their sign. Lanes
// become vectors.
llvm::Type* RegisterType(llvm::LLVMContext& context, DType dtype);

// The element of an array in memory: as in a register, but bool is an i8 that holds 0 or 1. Two
// elements of i4 or u4 share one i8, the first in the low half.
llvm::Type* MemoryType(llvm::LLVMContext& context, DType dtype);

// `value` in every lane; `lanes` may be 1.
llvm::Value* Splat(llvm::IRBuilderBase& b, llvm::Value* value, int lanes);
int LanesOf(llvm::Value* value);
// The type of `value` with its elements replaced by `element`.
llvm::Type* SameLanes(llvm::Value* value, llvm::Type* element);

}  // namespace tcc
