#pragma once

#include <vector>

#include "ir/expr/function.h"

// Which local buffers become registers, and what their indices depend on.
namespace tcc {

// Returns whether lowering replicates the loop's body: the loop is unrolled or vectorized.
bool IsSpread(ForKind kind);

// Returns the accesses of a leaf block: reads, then writes.
std::vector<Access> AccessesOf(const Block& block);

// Returns the iteration variables in an access's indices.
std::vector<Var> VarsOf(const Access& access);

// Returns whether a block's binding of one of `iters` uses the variable of a loop.
bool BindingsUse(const Block& block, const std::vector<Var>& iters, const Var& loop);

// Returns whether a local buffer's indices are constants once loops are unrolled: they use no other
// loop that runs during the buffer's lifetime.
bool IsRegisters(const Allocate& allocate);

}  // namespace tcc
