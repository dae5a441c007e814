#pragma once

#include "codegen_llvm/kernel_state.h"
#include "ir/expr/stmt.h"

namespace tcc {

// Emits `loop` as a call of TccRuntime::parallel_for with a function of its own for the iterations,
// which finds the variables and buffers that it uses in a closure on the caller's stack. Returns an
// i1: whether an iteration ran out of memory; null where none allocates.
llvm::Value* EmitParallelLoop(KernelState& state, const For& loop, llvm::Value* extent);

}  // namespace tcc
