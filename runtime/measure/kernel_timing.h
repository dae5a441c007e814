#pragma once

#include <cstdint>
#include <functional>

#include "support/status.h"

namespace tcc {

struct KernelTiming {
  double seconds = 0;  // per call: the least mean of the batches
  double spread = 0;   // (median - least) / least over the batches
  int64_t calls = 0;
};

// Times `launch`, which is called with 0, 1, ... below `copies` in turn, in batches of about a
// millisecond: shorter ones would mostly time how the pool's threads wake up. Ends when the batches
// agree, or after 50 ms; the first error of a launch ends it as well. `expected`, the seconds of an
// earlier call, saves the call that determines the size of a batch; 0: there was none.
StatusOr<KernelTiming> TimeKernel(int64_t copies, const std::function<Status(int64_t)>& launch,
                                  double expected = 0);

}  // namespace tcc
