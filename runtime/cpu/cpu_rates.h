#pragma once

#include "runtime/executor/thread_pool.h"

namespace tcc {

// Runs as many fused multiply-adds as the CPU can do, on every thread of the pool, in registers
// alone and for about a millisecond. Returns the number of float operations, two per lane; 0 if the
// CPU has no fused multiply-add of vectors.
double RunFmaLoop(ThreadPool& pool);

// The sizes and rates of the CPU that runs this process. 0 stands for a number that the system does
// not tell or that could not be measured.
struct CpuRates {
  double hertz = 0;            // cycles per second
  double fma_per_cycle = 0;    // multiply-adds of the widest vectors that begin per cycle
  double l1_bytes = 0;         // data cache of a core
  double l2_bytes = 0;         // cache of a core
  double l3_bytes = 0;         // one L3, also where several cores share it
  double l2_rate = 0;          // bytes per second that one thread reads from L2
  double l3_rate = 0;          // bytes per second that one thread reads from L3
  double l3_all_rate = 0;      // bytes per second that all threads together read from L3
  double memory_rate = 0;      // bytes per second that one thread reads from memory
  double memory_all_rate = 0;  // bytes per second that all threads together read from memory
  double fork_seconds = 0;     // a parallel loop in which the threads only meet; 0 for one thread
};

// Measures for about three seconds; "all threads" are those of the pool. Each number is the best of
// many short runs, because other processes only slow a run down.
//
// hertz          a chain of integer additions, of which each takes one cycle
// fma_per_cycle  RunFmaLoop on one thread; 0 without AVX2 and FMA
// l2_rate        sums over half of L2
// l3 rates       sums over a piece per thread: half of a CPU's share of L3, but 2 to 8 times L2
// memory rates   sums over 4 times L3, at least 256 MiB, at most a quarter of the available memory
CpuRates MeasureCpuRates(ThreadPool& pool);

}  // namespace tcc
