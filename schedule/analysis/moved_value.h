#pragma once

#include "schedule/analysis/placement.h"

// What ComputeInline and ReverseComputeInline share: a value that was computed in one block, and
// handed on through a buffer, is computed in another.
namespace tcc {

// The block stores one value a cell, all its variables are spatial, and it has no predicate: what
// it writes is a function of its variables. Also: no intrinsic emits it.
Status ExpectElementwise(const char* step, const Path& path);

// No intrinsic emits the block at the end of the path.
Status ExpectNotTensorized(const char* step, const Path& path);

// The buffer can disappear: it is no parameter, keeps one version of each cell, and is not computed
// when the model is linked.
Status ExpectRemovable(const char* step, const Function& fn, const Buffer& buffer);

// `buffer` lives where `path` ends, and threads that share `through` share it as well: another
// thread may access it there than did so far.
Status ExpectReachable(const char* step, const Function& fn, const Var& buffer,
                       const Buffer& through, const Path& path);

// No block from number `first` on, in order of execution, writes what `block` reads, but `except`.
Status ExpectReadsFinal(const char* step, const Function& fn, const Block& block, size_t first,
                        const Var& except);

// The block's number in order of execution.
size_t NumberOf(const Function& fn, const std::string& block);

}  // namespace tcc
