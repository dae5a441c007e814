#pragma once

#include <cstdint>

// Working memory of kernels: a stack for each thread, which keeps its memory for the next kernel.
namespace tcc {

// `bytes` at a multiple of 64, not cleared; nullptr when bytes < 0 or the system has none left.
void* AllocateScratch(int64_t bytes);
// Expects the calling thread's latest allocation that is not freed yet.
void FreeScratch(void* memory);

}  // namespace tcc
