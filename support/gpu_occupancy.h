#pragma once

#include <cstdint>

#include "support/device_profile.h"

namespace tcc {

// The resources of a multiprocessor that one block of threads takes.
struct BlockResources {
  int64_t threads = 0;
  int64_t registers = 0;     // per thread
  int64_t shared_bytes = 0;  // per block
};

// Returns how many blocks one multiprocessor runs at a time; 0 if not even one fits.
int64_t BlocksPerMultiprocessor(const BlockResources& block, const GpuSizes& gpu);

}  // namespace tcc
