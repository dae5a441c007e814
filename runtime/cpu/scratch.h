#pragma once

#include <cstdint>

// The working memory of kernels: a stack per thread, which keeps its memory for the next kernel.
namespace tcc {

// Returns `bytes` at a multiple of 64, not cleared; nullptr if bytes < 0 or the system has none
// left.
void* AllocateScratch(int64_t bytes);
// Frees the calling thread's latest allocation that is not freed yet.
void FreeScratch(void* memory);

}  // namespace tcc
