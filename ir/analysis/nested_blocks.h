#pragma once

#include <vector>

#include "ir/expr/function.h"

// Blocks that stand in blocks: the step Blockize makes them, and texts may hold them.
namespace tcc {

// Whether a block stands in `block`.
bool HoldsBlocks(const Block& block);
bool HasNestedBlocks(const Stmt& stmt);

// The blocks in `stmt` that stand in no other block of it.
std::vector<Ref<Block>> OutermostBlocksOf(const Stmt& stmt);

// The same instances of the blocks that hold none, without those round them: bindings are in the
// loops, and what has to hold for a block round them is a guard, a predicate of it a condition.
//
//   for i0 { block o(a: spatial E = i0) { for i1 { block b(i: spatial N = a*4 + i1) { .. } } } }
//   -->
//   for i0 { for i1 { block b(i: spatial N = i0*4 + i1) guard (i0 < E) { .. } } }
Stmt UnnestBlocks(const Stmt& stmt);
Function UnnestBlocks(const Function& fn);

}  // namespace tcc
