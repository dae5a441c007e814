#pragma once

#include "schedule/analysis/constraint.h"
#include "schedule/analysis/loop_tree.h"

namespace tcc {

// Computes a block's result once, when the model is linked.
//
//   allocate B_p                                 allocate B_p constant
//   for a, b { block B_p: B_p[a, b] = B[a, b] }   -->     the same
//   mm: ... B_p[k, j] ...
//
// The function stays whole, so that it is checked as a whole; SplitPrepare (lower/split_prepare.h)
// makes functions of their own out of the nests that write constant buffers. The block is a copy
// that CacheRead made, or a stage of the operator (a transform of weights).
struct Prepack {
  std::string block;
  auto Fields() { return std::tie(block); }
};

// Refused: a block that shares its nest with others; several results; a result that is a parameter,
// placed, or not global; a nest that writes the result and reads a buffer that is not constant, or
// has loops bound to threads.
StatusOr<Constraints> CheckPrepack(const Function& fn, const Prepack& step);
Function ApplyPrepack(const Function& fn, const Prepack& step);

// Returns whether the block runs when the model is linked.
bool RunsWhenLinked(const Function& fn, const Block& block);

}  // namespace tcc
