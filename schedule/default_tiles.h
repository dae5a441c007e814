#pragma once

#include <span>
#include <vector>

#include "ir/function.h"
#include "ir/target.h"

// The sizes that sketches start from, picked from extents alone.
namespace tcc {

// Extent of an iteration variable's domain; it is known.
int64_t ExtentOf(const Block& block, size_t iter);

// Instances of the block.
int64_t WorkOf(const Block& block);

// rows x (registers * lanes) accumulators: the columns of a row are several vectors.
struct RegisterTile {
  int64_t rows = 1;
  int64_t registers = 1;
  int64_t lanes = 1;
};

// A tile that fits the vector registers: rows * v + v + 1 of them for v registers of columns
// (reference: cpu_perf, section 7: two or more registers wide, twelve or more accumulators). Lanes
// are a power of two where the columns allow, since odd vectors are widened by LLVM and spill.
// Sizes that divide are preferred, in columns only where masks cost; else tails are evened out.
RegisterTile ChooseRegisterTile(int64_t rows, int64_t columns, const Target& target, DType dtype);

// A tile of one vector for windows that have a filter for each column: as many rows as divide
// theirs, at most 14, so that filter and rows in reach stay in registers with them.
RegisterTile ChooseWindowTile(int64_t rows, int64_t columns, const Target& target, DType dtype);

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
// or 8 x 8 where that still makes BusyBlocks.
std::vector<ThreadLevels> ChooseThreadTile(std::span<const int64_t> extents, const Target& target);

// The widest of 4, 2 and 1 elements that divides the extent.
int64_t CopyLanes(int64_t extent);

// Lanes of the vectorized loop of a map of this extent.
int64_t MapLanes(int64_t extent, const Target& target);

}  // namespace tcc
