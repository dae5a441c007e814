#pragma once

#include <cstdint>

namespace tcc {

// What a block of threads takes of the multiprocessor that runs it.
struct BlockResources {
  int64_t threads = 0;
  int64_t registers = 0;     // of a thread
  int64_t shared_bytes = 0;  // of the block
};

// Blocks that one multiprocessor of `sm` (75, 80, 86, 89, 90) runs at a time; 0 if not even one.
int64_t BlocksPerMultiprocessor(const BlockResources& block, int sm);

// How often the typical device of that kind (Target::multiprocessors) is filled by `blocks` of
// them; at least one wave keeps all of it busy.
double WavesOf(int64_t blocks, const BlockResources& block, int sm);

}  // namespace tcc
