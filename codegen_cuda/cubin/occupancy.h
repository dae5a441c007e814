#pragma once

#include <cstdint>

namespace tcc {

// The resources of a multiprocessor that one block of threads takes.
struct BlockResources {
  int64_t threads = 0;
  int64_t registers = 0;     // per thread
  int64_t shared_bytes = 0;  // per block
};

// Returns how many blocks one multiprocessor of `sm` (75, 80, 86, 89, 90) runs at a time; 0 if not
// even one fits.
int64_t BlocksPerMultiprocessor(const BlockResources& block, int sm);

// Returns how many times `blocks` blocks fill the typical device of that sm
// (Target::multiprocessors). At least one wave keeps all of the device busy.
double WavesOf(int64_t blocks, const BlockResources& block, int sm);

}  // namespace tcc
