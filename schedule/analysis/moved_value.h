#pragma once

#include "schedule/analysis/placement.h"

// Checks that ComputeInline and ReverseComputeInline share. Both move the computation of a value
// from one block, which passed it on through a buffer, to another block.
namespace tcc {

// The block stores one value per cell, all its variables are spatial, and it has no predicate: the
// value is a function of the variables. No intrinsic emits the block.
Status ExpectElementwise(const char* step, const Path& path);

// No intrinsic emits the block at the end of the path.
Status ExpectNotTensorized(const char* step, const Path& path);

// The buffer can be removed: it is no parameter, keeps one version of each cell, and is not
// computed when the model is linked.
Status ExpectRemovable(const char* step, const Function& fn, const Buffer& buffer);

// `buffer` lives where `path` ends, and all threads that share `through` share `buffer` too: after
// the move, another thread may access it.
Status ExpectReachable(const char* step, const Function& fn, const Var& buffer,
                       const Buffer& through, const Path& path);

// No block from number `first` on, in order of execution, writes a buffer that `block` reads, other
// than `except`.
Status ExpectReadsFinal(const char* step, const Function& fn, const Block& block, size_t first,
                        const Var& except);

// The block's number in order of execution.
size_t NumberOf(const Function& fn, const std::string& block);

}  // namespace tcc
