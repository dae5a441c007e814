#pragma once

#include <vector>

#include "ir/expr/function.h"

// Blocks inside blocks, which the step Blockize makes and texts may contain.
namespace tcc {

// Returns whether `block` contains a block.
bool HoldsBlocks(const Block& block);
bool HasNestedBlocks(const Stmt& stmt);

// Returns the blocks of `stmt` that are inside no other block of it.
std::vector<Ref<Block>> OutermostBlocksOf(const Stmt& stmt);

// Removes the outer blocks and keeps the instances of the innermost ones: bindings become
// expressions of the loops, an outer block's domains become guards, and its predicate a condition.
//
//   for i0 { block o(a: spatial E = i0) { for i1 { block b(i: spatial N = a*4 + i1) { .. } } } }
//   -->
//   for i0 { for i1 { block b(i: spatial N = i0*4 + i1) guard (i0 < E) { .. } } }
Stmt UnnestBlocks(const Stmt& stmt);
Function UnnestBlocks(const Function& fn);

}  // namespace tcc
