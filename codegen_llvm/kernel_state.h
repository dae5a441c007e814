#pragma once

#include <string>
#include <unordered_map>
#include <vector>

#include "codegen_llvm/llvm_forward.h"
#include "ir/expr/stmt.h"
#include "ir/simplify/interval.h"

namespace tcc {

// A buffer that loads and stores may name.
struct BufferBinding {
  llvm::Value* pointer = nullptr;
  // Claims that accesses to this buffer touch no other buffer's memory.
  llvm::MDNode* alias_scope = nullptr;
  llvm::MDNode* no_alias = nullptr;
  // At least so many elements, whatever the shapes are.
  int64_t elements = 0;
  // Only the function that is being built reads and writes it: best in registers.
  bool is_private = false;
};

// What the emitters of one LLVM function share: where code goes and what names stand for. A
// parallel loop's body is a function of its own, with a state of its own.
struct KernelState {
  llvm::Module& module;
  llvm::IRBuilderBase& builder;
  llvm::Function* function = nullptr;
  llvm::Value* runtime = nullptr;  // const TccRuntime*
  // In the body of a parallel loop: the i32 to set when memory runs out. Null in the kernel itself,
  // which returns TCC_KERNEL_OUT_OF_MEMORY.
  llvm::Value* failure = nullptr;
  std::unordered_map<const VarNode*, llvm::Value*> vars = {};
  // What is known of the variables in `vars`.
  Bounds bounds = {};
  std::unordered_map<const VarNode*, BufferBinding> buffers = {};
};

// The least number of elements that a buffer of this declaration has within `bounds`.
int64_t LeastElements(const Buffer& buffer, const Bounds& bounds);

// `type` on the stack of `state`'s function for the whole call, aligned to 64 bytes.
llvm::AllocaInst* StackSlot(KernelState& state, llvm::Type* type);

// The value of TccRuntime's member at `byte_offset`: a pointer.
llvm::Value* RuntimeEntry(KernelState& state, size_t byte_offset);

}  // namespace tcc
