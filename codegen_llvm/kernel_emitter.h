#pragma once

#include <memory>

#include "codegen_llvm/kernel_state.h"
#include "codegen_llvm/llvm_forward.h"
#include "ir/expr/function.h"
#include "support/target.h"

namespace tcc {

// A kernel as LLVM IR.
struct EmittedKernel {
  std::unique_ptr<llvm::Module> module;
  RuntimeNeeds needs;
};

// Emits a module with one external function, `fn.name`, of the form TccKernel
// (runtime/artefact/kernel_abi.h): buffers in the order of `fn.params`, shape arguments in the
// order of `fn.vars`. Everything else in it is internal; no library is called.
//
// Expects that a parameter that the kernel stores to aliases no other parameter.
EmittedKernel EmitKernel(llvm::LLVMContext& context, const Function& fn, const Target& target,
                         llvm::TargetMachine& machine);

}  // namespace tcc
