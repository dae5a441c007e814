#pragma once

#include <vector>

#include "ir/expr/function.h"

// Which local buffers become registers, and what their indices depend on.
namespace tcc {

// Loops that are copies of their body in the end: unrolled and vectorized ones.
bool IsSpread(ForKind kind);

// The accesses of a leaf block: reads, then writes.
std::vector<Access> AccessesOf(const Block& block);

// The iteration variables in an access's indices.
std::vector<Var> VarsOf(const Access& access);

// Whether a block's binding of one of `iters` uses the variable of a loop.
bool BindingsUse(const Block& block, const std::vector<Var>& iters, const Var& loop);

// Whether a local buffer's indices are constants once loops are unrolled: no other loop that runs
// while it lives is in them.
bool IsRegisters(const Allocate& allocate);

}  // namespace tcc
