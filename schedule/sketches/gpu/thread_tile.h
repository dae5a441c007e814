#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "support/target.h"

// The initial sizes of a GPU's tiles of contractions and windows, picked from extents alone.
namespace tcc {

// Returns the number of thread blocks that keep a GPU busy.
int64_t BusyBlocks(const Target& target);

// The number of elements along one axis that a thread block computes: virtual threads * threads *
// inner.
struct ThreadLevels {
  int64_t vthreads = 1;
  int64_t threads = 1;
  int64_t inner = 1;
};

// Returns the levels for spatial axes of these extents, with memory contiguous along the last:
// about 256 threads of 4 x 4 results each, rows along the other axes from the right and columns
// along the last axis; 8 x 4 or 8 x 8 if that still makes BusyBlocks. The numbers of threads, and
// of results per thread, are those that cost least, padding included, and multiprocessors without
// a block, unless there is one for each of many parts of the reduction.
std::vector<ThreadLevels> ChooseThreadTile(std::span<const int64_t> extents, bool in_parts,
                                           const Target& target);

}  // namespace tcc
