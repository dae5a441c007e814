#pragma once

#include <cstddef>

#include "ir/expr/stmt.h"

// A launch may go on once the blocks along one axis have ended.
//
//   for x blockIdx.x { for p blockIdx.y { parts } rest }
//
// `rest` runs once for each x, behind all blocks along y. On a GPU the block that ends last runs
// it.
namespace tcc {

// Returns whether `stmt` holds a loop over blocks.
bool HoldsBlocks(const Stmt& stmt);

// Returns the place of the first statement behind the loops over blocks in `seq`; the number of
// statements if there is none.
size_t FirstBehindBlocks(const Seq& seq);

// Returns whether a statement of `stmt` stands behind a loop over blocks.
bool GoesOnBehindBlocks(const Stmt& stmt);

}  // namespace tcc
