#pragma once

#include "codegen_llvm/kernel_state.h"
#include "ir/expr/stmt.h"

namespace tcc {

// Emits `loop` as a call of TccRuntime::parallel_for. The iterations become a function, which finds
// the variables and buffers that it uses in a closure on the caller's stack. Returns an i1 that is
// true if an iteration ran out of memory; null if none allocates.
llvm::Value* EmitParallelLoop(KernelState& state, const For& loop, llvm::Value* extent);

}  // namespace tcc
