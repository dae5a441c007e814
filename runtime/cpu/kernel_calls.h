#pragma once

#include <cstdint>

#include "runtime/artefact/kernel_abi.h"

// The functions that kernels call through TccRuntime (kernel_abi.h).
namespace tcc {

// Allocates working memory on a stack of the calling thread, which keeps its memory for the next
// kernel. Returns `bytes` at a multiple of 64, not cleared; nullptr if bytes < 0 or the system has
// none left.
void* AllocateScratch(int64_t bytes);
// Frees the calling thread's latest allocation that is not freed yet.
void FreeScratch(void* memory);

// Implements TccRuntime::math by the host's libm. `function` is a TCC_MATH code; `y` is ignored by
// functions of one argument.
double TccMath(int32_t function, double x, double y);

}  // namespace tcc
