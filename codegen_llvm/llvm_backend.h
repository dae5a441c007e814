#pragma once

#include <memory>

#include "lower/backend.h"
#include "support/target.h"

namespace tcc {

// Makes the backend of a CPU target, which generates code by LLVM. CompiledModule::image is an ELF
// shared object that exports each kernel by its name as a TccKernel (runtime/artefact/kernel_abi.h)
// and needs no library; it is empty if there is no kernel. Emit knows the stages "source" (LLVM IR)
// and "asm".
//
// Numerics: a product may be fused with the sum that uses it; nothing is reassociated. math_f32.h
// gives the error bounds of the scalar functions.
std::unique_ptr<Backend> MakeLlvmBackend(const Target& target);

}  // namespace tcc
