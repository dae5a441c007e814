#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "support/target.h"

// The sizes that a GPU's tiles of contractions and windows start from, picked from extents alone.
namespace tcc {

// The first architecture that copies to shared memory asynchronously.
inline constexpr int kAsyncCopies = 80;

// Thread blocks that keep a GPU busy: four for each multiprocessor.
int64_t BusyBlocks(const Target& target);
// What one of them makes at first.
inline constexpr int64_t kResultsOfTile = 64 * 64;

// How many elements along one axis a thread block makes: virtual threads * threads * inner.
struct ThreadLevels {
  int64_t vthreads = 1;
  int64_t threads = 1;
  int64_t inner = 1;
};

// For spatial axes of these extents, memory being contiguous along the last: about 256 threads of
// 4 x 4 results each, rows along the others from the right and columns along the last axis; 8 x 4
// or 8 x 8 where that still makes BusyBlocks. Of all numbers of threads and of results a thread,
// those that cost least, padding counted.
std::vector<ThreadLevels> ChooseThreadTile(std::span<const int64_t> extents, const Target& target);

}  // namespace tcc
