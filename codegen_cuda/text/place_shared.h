#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "ir/expr/stmt.h"

namespace tcc {

// Where in a block's shared memory its buffers are, in bytes.
struct SharedPlaces {
  std::vector<int64_t> offsets;  // multiples of 16
  int64_t bytes = 0;             // of all
  bool reused = false;           // some overlap
};

// Places for buffers of `body`, a launch, that take so many bytes each. Those between whose uses
// all threads meet may overlap: where a barrier stands that every thread passes once, outside loops
// in order and conditions. Memory is reused (by PlanMemory)
// where that saves 1 KiB or more, or where there are only `most` bytes.
SharedPlaces PlaceShared(const Stmt& body, std::span<const Buffer> buffers,
                         std::span<const int64_t> bytes, int64_t most);

}  // namespace tcc
