#pragma once

#include "runtime/executor/thread_pool.h"

namespace tcc {

// Runs as many fused multiply-adds as the CPU can do, on every thread of the pool, in registers
// alone and for about a millisecond. Returns the number of float operations, two per lane; 0 if the
// CPU has no fused multiply-add of vectors.
double RunFmaLoop(ThreadPool& pool);

}  // namespace tcc
