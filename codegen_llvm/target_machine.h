#pragma once

#include <memory>

#include "codegen_llvm/llvm_forward.h"
#include "support/status.h"
#include "support/target.h"

namespace tcc {

// LLVM's code generator for a CPU target. `native` takes the CPU and features of the machine that
// tcc runs on. Fails as Unavailable where the CPU has no AVX2, FMA and F16C, on which generated
// code relies, and as FailedPrecondition for targets that are no CPU. Machines are for one thread.
StatusOr<std::unique_ptr<llvm::TargetMachine>> CreateTargetMachine(const Target& target);

}  // namespace tcc
