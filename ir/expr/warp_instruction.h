#pragma once

#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "ir/expr/stmt.h"

namespace tcc {

// How the lanes of a warp hold a tile, its fragment: a cell's place is
// register * 32 + lane, and each part of it is part of an index of the tile,
// (index of `dim` / unit) modulo extent. Listed from the part that varies fastest; those of the
// lane come first. A lane has several elements of less than 32 bits in one register word: they are
// consecutive registers here.
struct FragmentPart {
  int dim;
  int64_t unit;
  int64_t extent;
};
using Fragment = std::span<const FragmentPart>;

// What the threads of a warp do together, by a tensor intrinsic's name.
struct WarpInstruction {
  enum class Kind : uint8_t {
    kMma,           // C += A B
    kLoadMatrices,  // To = From: 1, 2 or 4 matrices of 8 rows of 16 bytes of shared memory
  };
  // Which parameters of the intrinsic are fragments, and how they lie; what is loaded takes the
  // place that it will be used at.
  struct Operand {
    std::string_view name;
    Fragment fragment;
  };
  std::string_view intrinsic;
  Kind kind;
  int sm;  // the first architecture that has it
  std::span<const Operand> operands;
};

// nullptr: none of that name; an intrinsic of one thread.
const WarpInstruction* FindWarpInstruction(std::string_view intrinsic);
std::span<const WarpInstruction> WarpInstructions();

// The extent of the tile along its dimension `dim`.
int64_t TileExtent(Fragment fragment, int dim);

// The place in its tile's fragment of a cell.
int64_t PlaceOf(Fragment fragment, std::span<const int64_t> cell);

// The layout of a buffer of such tiles: tile after tile in the order of the buffer's dimensions,
// dims[t] being the dimension of the buffer that is dimension t of the tile. Other dimensions are
// 1 a tile.
Layout FragmentLayout(const Buffer& buffer, std::span<const size_t> dims, Fragment fragment);

}  // namespace tcc
