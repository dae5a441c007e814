#pragma once

#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "ir/expr/stmt.h"

namespace tcc {

// A part of a fragment, the layout of a tile over the lanes of a warp. A cell's place is register *
// 32 + lane. Each part of the place is part of an index of the tile, (index of `dim` / unit) modulo
// extent. A fragment lists the fastest varying part first, so the lane's parts come first. Elements
// of less than 32 bits that share a register word count as consecutive registers.
struct FragmentPart {
  int dim;
  int64_t unit;
  int64_t extent;
};
using Fragment = std::span<const FragmentPart>;

// An instruction that the threads of a warp run together, by a tensor intrinsic's name. One of four
// warps, a group, is written as what each of them does: their tiles of A and C are neighbours.
struct WarpInstruction {
  enum class Kind : uint8_t {
    kMma,           // C += A B
    kGroupMma,      // what one of four warps does of C += A B, with A and B in shared memory
    kLoadMatrices,  // To = From: 1, 2 or 4 matrices of 8 rows of 16 bytes of shared memory
  };
  // A parameter of the intrinsic that is a fragment, and its layout. A loaded matrix takes the
  // layout of its use.
  struct Operand {
    std::string_view name;
    Fragment fragment;
  };
  std::string_view intrinsic;
  Kind kind;
  int sm;  // the first architecture with the instruction
  std::span<const Operand> operands;
  bool later = true;  // whether later architectures have it too

  bool IsIn(int arch) const { return later ? arch >= sm : arch == sm; }
  // Whether it multiplies on tensor cores.
  bool Multiplies() const { return kind == Kind::kMma || kind == Kind::kGroupMma; }
};

// Returns nullptr if there is none of that name: the intrinsic is of one thread.
const WarpInstruction* FindWarpInstruction(std::string_view intrinsic);
std::span<const WarpInstruction> WarpInstructions();

// Returns whether the statement is a call of a product of a group of warps.
bool IsGroupProduct(const Stmt& stmt);

// Returns the extent of the tile along its dimension `dim`.
int64_t TileExtent(Fragment fragment, int dim);

// Returns the place of a cell in its tile's fragment.
int64_t PlaceOf(Fragment fragment, std::span<const int64_t> cell);

// Returns the layout of a buffer of such tiles: tile after tile in the order of the buffer's
// dimensions. dims[t] is the buffer's dimension that is dimension t of the tile; a tile has extent
// 1 in the others.
Layout FragmentLayout(const Buffer& buffer, std::span<const size_t> dims, Fragment fragment);

}  // namespace tcc
