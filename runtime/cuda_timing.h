#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "ir/support/status.h"
#include "runtime/module.h"

namespace tcc {

struct CudaTimingOptions {
  // Buffers alternate between as many sets as fill the L2 cache twice, so that no launch finds what
  // the one before left there; warm: one set.
  bool cold = true;
  // A graph of so many launches at least, and of so many that it takes so long.
  int launches = 20;
  double graph_seconds = 2e-3;
  // Time is taken around so many replays of it, that many times.
  int replays = 5;
  int blocks = 7;
};

struct CudaTiming {
  double median_seconds = 0;  // of one launch, gaps between launches of a graph included
  double min_seconds = 0;
  int buffer_sets = 0;
  int launches = 0;  // of the graph
};

// Times a kernel of a module for device "cuda" on that device. contents[i] is what buffer i of its
// Call holds at first; the kernel may change it. Nothing is subtracted. The method is that of
// measurements that count gaps as users see them: a graph hides the host, rotation the cache, the
// median of blocks the clock's wandering.
StatusOr<CudaTiming> TimeCudaKernel(const Module& module, size_t kernel,
                                    std::span<const std::span<const uint8_t>> contents,
                                    std::span<const int64_t> shapes,
                                    const CudaTimingOptions& options = {});

}  // namespace tcc
