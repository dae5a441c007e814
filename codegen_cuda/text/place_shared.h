#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "ir/expr/stmt.h"

namespace tcc {

// The places of a block's buffers in its shared memory, in bytes.
struct SharedPlaces {
  std::vector<int64_t> offsets;  // multiples of SharedAlignment
  int64_t bytes = 0;             // the total
  bool reused = false;           // whether some overlap
};

// Places the buffers of `body`, a launch; `bytes` holds their sizes. Two buffers may overlap if
// between their uses stands a barrier that every thread passes exactly once, outside serial loops
// and conditions. Memory is reused (by PlanMemory) if that saves 1 KiB or more, or if the buffers
// would not fit `most` bytes otherwise.
SharedPlaces PlaceShared(const Stmt& body, std::span<const Buffer> buffers,
                         std::span<const int64_t> bytes, int64_t most);

}  // namespace tcc
