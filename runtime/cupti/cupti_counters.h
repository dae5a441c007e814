#pragma once

#include <functional>
#include <vector>

#include "runtime/cuda/cuda_context.h"
#include "support/status.h"

namespace tcc {

// The values of a GPU's counters for one launch of a kernel.
struct LaunchCounters {
  double nanoseconds = 0;
  double read_bytes = 0, written_bytes = 0;  // of the device's memory
  // l2_hit_percent is of the sectors that were looked up in the L2 cache. occupancy_percent is of
  // the warps that a multiprocessor can hold, while it has any. tensor_percent and fma_percent are
  // of the cycles in which its tensor cores and its float32 units could work.
  double l2_hit_percent = 0, occupancy_percent = 0, tensor_percent = 0, fma_percent = 0;
};

// Runs `run` under CUPTI's range profiler, which repeats each launch of a kernel as often as the
// counters need and restores the memory that it writes. Expects the launches, at most
// `most_launches`, to come one by one, not as a graph, and the context to be current in the calling
// thread. Returns one result per launch, in order. Unavailable without the library (TCC_CUPTI, of
// CUDA 12.6 or newer), on devices that it does not know, or where the user may not read counters.
StatusOr<std::vector<LaunchCounters>> CountLaunches(const CudaContext& context,
                                                    size_t most_launches,
                                                    const std::function<Status()>& run);

}  // namespace tcc
