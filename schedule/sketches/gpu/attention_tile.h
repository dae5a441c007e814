#pragma once

#include <cstdint>

#include "support/target.h"

// The initial sizes of a GPU's tiles of attention, picked from nothing but extents.
namespace tcc {

struct AttentionExtents {
  int64_t heads = 1;  // of all batches
  int64_t queries = 1;
  int64_t keys = 1;
  int64_t depth = 1;  // of queries and keys
  int64_t width = 1;  // of values
};

// The shape of a thread block: `lanes` x `groups` threads. A row of threads has `rows` queries. A
// tile has `keys` keys for each lane, and the lane sums `columns` columns of the values.
struct AttentionTile {
  int64_t lanes = 1, groups = 1;
  int64_t rows = 1, keys = 1, columns = 1;
  int64_t stages = 1;
};

// Returns the tile of least estimated time: issue slots of the busiest multiprocessor, padding and
// idle schedulers included. It fits shared memory where any tile does, and there is a thread block
// for each multiprocessor where that is possible.
AttentionTile ChooseAttentionTile(const AttentionExtents& extents, const Target& target);

// Returns the cells from one row of a staged operand to the next: rows of whole vectors, an odd
// number of them, so that threads that read several rows hit different banks.
int64_t StagedRow(int64_t cells);

}  // namespace tcc
