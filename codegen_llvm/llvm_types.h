#pragma once

#include "codegen_llvm/llvm_forward.h"
#include "support/dtype.h"

namespace tcc {

// Returns the register form of a type: bool is i1, integers are iN, f32 and f64 are themselves, and
// smaller floats are the iN of their bits, so that LLVM never rounds or converts them behind our
// back (convert.h does). i4 and u4 are an i8, sign- or zero-extended. Lanes become vectors.
llvm::Type* RegisterType(llvm::LLVMContext& context, DType dtype);

// Returns the memory form of an array element: as in a register, but bool is an i8 that holds 0 or
// 1, and elements of i4, u4, i2 and u2 share an i8, the first in its low bits.
llvm::Type* MemoryType(llvm::LLVMContext& context, DType dtype);

// Returns `value` in every lane; `lanes` may be 1.
llvm::Value* Splat(llvm::IRBuilderBase& b, llvm::Value* value, int lanes);
int LanesOf(llvm::Value* value);
// Checks whether the builder's module is for x86.
bool IsForX86(const llvm::IRBuilderBase& b);
// Returns the type of `value` with its elements replaced by `element`.
llvm::Type* SameLanes(llvm::Value* value, llvm::Type* element);

}  // namespace tcc
