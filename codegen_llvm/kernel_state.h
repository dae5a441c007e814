#pragma once

#include <cstdint>
#include <string>
#include <unordered_map>
#include <vector>

#include "codegen_llvm/llvm_forward.h"
#include "ir/expr/stmt.h"
#include "ir/simplify/interval.h"
#include "support/cpu_arch.h"

namespace tcc {

// A buffer that loads and stores may use.
struct BufferBinding {
  llvm::Value* pointer = nullptr;
  // The metadata that says that accesses to this buffer alias no other buffer.
  llvm::MDNode* alias_scope = nullptr;
  llvm::MDNode* no_alias = nullptr;
  // The least number of elements, whatever the shapes are.
  int64_t elements = 0;
  // Whether only the function that is being built reads and writes it: best in registers.
  bool is_private = false;
  // Whether masked stores may write all their lanes (left_out_lanes.h).
  bool takes_all_lanes = false;
};

// The facts of the machine that decide which instructions are emitted: the same in all functions of
// a kernel.
struct MachineFacts {
  CpuArch arch = CpuArch::kX86;
  int64_t vector_bytes = 0;
  bool has_masks = false;             // vectors are loaded and stored under masks
  bool dots_bytes = false;            // DotsBytes
  bool dots_signed_bytes = false;     // DotsSignedBytes
  bool dots_bfloats = false;          // DotsBFloats
  bool counts_bits_of_words = false;  // CountsBitsOfWords
  bool counts_bits_of_bytes = false;  // CountsBitsOfBytes
  bool amx = false;                   // whether the target has tdpbusd and tdpbf16ps
};

// The services of the runtime that a kernel uses, its parallel loops included.
struct RuntimeNeeds {
  // The most scratch memory that one thread holds, each allocation rounded up to 64 bytes;
  // INT64_MAX if the shapes do not bound it.
  int64_t scratch_bytes = 0;
  uint32_t math_functions = 0;  // bit f: TCC_MATH code f is called (kernel_abi.h)
};

// The state that the emitters of one LLVM function share: where code goes, and the values of
// variables and buffers. The body of a parallel loop is a function with a state of its own.
struct KernelState {
  llvm::Module& module;
  llvm::IRBuilderBase& builder;
  RuntimeNeeds& needs;  // of the whole kernel
  MachineFacts machine = {};
  llvm::Function* function = nullptr;
  llvm::Value* runtime = nullptr;  // const TccRuntime*
  bool amx_is_configured = false;  // at the function's beginning
  int64_t scratch_bytes = 0;       // held at this point by the thread that runs the kernel
  // The i32 that the body of a parallel loop sets when memory runs out. Null in the kernel itself,
  // which returns TCC_KERNEL_OUT_OF_MEMORY.
  llvm::Value* failure = nullptr;
  std::unordered_map<const VarNode*, llvm::Value*> vars = {};
  // The bounds of the variables in `vars`.
  Bounds bounds = {};
  std::unordered_map<const VarNode*, BufferBinding> buffers = {};
};

// Returns the least number of elements that a buffer of this declaration has within `bounds`.
int64_t LeastElements(const Buffer& buffer, const Bounds& bounds);
// Returns the most bytes of scratch memory that such a buffer takes; INT64_MAX if `bounds` do not
// bound it.
int64_t MostScratchBytes(const Buffer& buffer, const Bounds& bounds);

// Allocates a `type`, aligned to 64 bytes, on the stack of `state`'s function for the whole call.
llvm::AllocaInst* StackSlot(KernelState& state, llvm::Type* type);

// Loads the pointer member of TccRuntime at `byte_offset`.
llvm::Value* RuntimeEntry(KernelState& state, size_t byte_offset);

}  // namespace tcc
