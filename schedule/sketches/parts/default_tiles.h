#pragma once

#include "ir/expr/function.h"
#include "support/target.h"

// The initial sizes of sketches, picked from extents alone.
namespace tcc {

// Returns the extent of an iteration variable's domain, which must be known.
int64_t ExtentOf(const Block& block, size_t iter);

// Returns the number of the block's instances.
int64_t WorkOf(const Block& block);

// A tile of rows x (registers * lanes) accumulators: the columns of a row are several vectors.
struct RegisterTile {
  int64_t rows = 1;
  int64_t registers = 1;
  int64_t lanes = 1;
};

// The way in which the terms of a tile's rows reach registers: one by one, or in a vector for each
// row, whose lanes are multiplied by (Target::multiplies_by_lane).
enum class RowTerms : uint8_t { kOneByOne, kInVectors };

// Returns a tile that fits the vector registers: it takes rows * v + v + 1 of them for v registers
// of columns, and a vector for each row in place of the one with terms in vectors (reference:
// cpu_perf, section 7: two or more registers wide, twelve or more accumulators). Lanes are a power
// of two where the columns allow, since odd vectors are widened by LLVM and spill. Columns prefer
// sizes that divide where masks cost; rows are those that cost least with their tail.
RegisterTile ChooseRegisterTile(int64_t rows, int64_t columns, const Target& target, DType dtype,
                                RowTerms terms = RowTerms::kOneByOne);

// Returns a tile for windows of so many taps with a filter per column: one vector of at most 14
// rows, a number that divides theirs if there is one, so that the filter and the operand rows in
// reach stay in registers too; two of at most 7 where these hold both filters and the columns
// divide, as reads of neighbouring lines are cheaper.
RegisterTile ChooseWindowTile(int64_t taps, int64_t rows, int64_t columns, const Target& target,
                              DType dtype);

// Returns the length of one step along a reduction's axis of `extent`, with `others` terms per
// value: about the longest with which a tile's operands and results stay in L1.
int64_t ChooseReductionStep(const RegisterTile& tile, int64_t extent, int64_t others,
                            const Target& target, DType dtype);

// Returns the largest of 4, 2 and 1 that divides the extent.
int64_t CopyLanes(int64_t extent);

// Returns the lanes of the vectorized loop of a map of this extent.
int64_t MapLanes(int64_t extent, const Target& target);

}  // namespace tcc
