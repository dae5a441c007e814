#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "schedule/sketches/cpu/register_tiling.h"

// Windows that slide over rows which a thread has close by.
namespace tcc {

// A spatial axis along which windows slide over dimension `dim` of a buffer.
struct SlidingRows {
  std::string buffer;
  size_t dim = 0;
  size_t axis = 0;  // of the spatial ones
};

// Returns the axis along which rows of `buffer` may be kept, outside of the tiles. Rows inside of
// them, as pools of planes (NCHW) have, are not: by hand, rows that roll were no faster than a
// padded copy of a plane, and both 10 to 90 % slower than masks at the borders where a row is at
// most one vector, or whole ones; 20 to 40 % faster where it is neither.
std::optional<SlidingRows> FindSlidingRows(const RegisterTiling& tiling, const Var& buffer);

// Schedules the register tiles of windows for pieces of rows of windows, by `at_first` pieces.
// Returns the loop over a piece's rows, whose parent is the last of `outer`, the loops over pieces;
// those are left to be run in parallel.
LoopRef TilePieces(RegisterTiling& t, const SlidingRows& sliding, int64_t at_first,
                   std::vector<LoopRef>& outer);

}  // namespace tcc
