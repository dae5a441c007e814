#pragma once

#include "schedule/analysis/placement.h"

// Checks that ComputeInline and ReverseComputeInline share. Both move the computation of a value
// from one block, which passed it on through a buffer, to another block.
namespace tcc {

// Checks that the block stores one value per cell, has only spatial variables and no predicate, so
// that the value is a function of the variables, and that no intrinsic emits the block.
Status ExpectElementwise(const char* step, const Path& path);

// Checks that no intrinsic emits the block at the end of the path.
Status ExpectNotTensorized(const char* step, const Path& path);

// Checks that the buffer can be removed: it is no parameter, keeps one version of each cell, and is
// not computed when the model is linked.
Status ExpectRemovable(const char* step, const Function& fn, const Buffer& buffer);

// Checks that `buffer` is live where `path` ends, and that all threads that share `through` share
// `buffer` too: after the move, another thread may access it.
Status ExpectReachable(const char* step, const Function& fn, const Var& buffer,
                       const Buffer& through, const Path& path);

// Checks that no block from number `first` on, in execution order, writes a buffer that `block`
// reads, other than `except`.
Status ExpectReadsFinal(const char* step, const Function& fn, const Block& block, size_t first,
                        const Var& except);

// Returns the block's number in execution order.
size_t NumberOf(const Function& fn, const std::string& block);

}  // namespace tcc
