#pragma once

#include <memory>

#include "codegen_llvm/llvm_forward.h"
#include "support/status.h"
#include "support/target.h"

namespace tcc {

// Creates LLVM's code generator for a CPU target. `native` takes the CPU and features of the
// machine that tcc runs on. Unavailable if the CPU lacks AVX2, FMA or F16C, on which generated code
// relies; FailedPrecondition if the target is no CPU. A machine must not be shared between threads.
StatusOr<std::unique_ptr<llvm::TargetMachine>> CreateTargetMachine(const Target& target);

}  // namespace tcc
