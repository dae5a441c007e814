#pragma once

#include <memory>

#include "lower/backend.h"
#include "support/target.h"

namespace tcc {

// Code for CPU targets by LLVM. CompiledModule::image is an ELF shared object that exports each
// kernel by its name as a TccKernel (runtime/artefact/kernel_abi.h) and needs no library; empty
// where there is no kernel. Emit knows the stages "source" (LLVM IR) and "asm".
//
// Numerics: a product may be fused with the sum that uses it, nothing is reassociated. Error bounds
// of the scalar functions are given in math_f32.h.
std::unique_ptr<Backend> MakeLlvmBackend(const Target& target);

}  // namespace tcc
