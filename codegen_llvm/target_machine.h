#pragma once

#include <memory>

#include "codegen_llvm/llvm_forward.h"
#include "support/status.h"
#include "support/target.h"

namespace tcc {

// Creates LLVM's code generator for a CPU target. `native` takes the CPU and features of the
// machine that tcc runs on. Unavailable if that lacks what generated code relies on: AVX2, FMA,
// F16C and BMI2 on x86-64, NEON and LSE on aarch64. FailedPrecondition if the target is no CPU. A
// machine must not be shared between threads.
StatusOr<std::unique_ptr<llvm::TargetMachine>> CreateTargetMachine(const Target& target);

// Returns LLVM's name of Linux on the architecture.
const char* TripleOf(CpuArch arch);

}  // namespace tcc
