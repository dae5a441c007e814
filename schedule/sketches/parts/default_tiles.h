#pragma once

#include "ir/expr/function.h"
#include "support/target.h"

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

// Of a reduction's axis of `extent`, with `others` terms for each value, what one step takes: as
// much as leaves the operands of a tile in the first cache, with its results.
int64_t ChooseReductionStep(const RegisterTile& tile, int64_t extent, int64_t others,
                            const Target& target, DType dtype);

// The widest of 4, 2 and 1 elements that divides the extent.
int64_t CopyLanes(int64_t extent);

// Lanes of the vectorized loop of a map of this extent.
int64_t MapLanes(int64_t extent, const Target& target);

}  // namespace tcc
