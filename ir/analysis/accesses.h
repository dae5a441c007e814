#pragma once

#include <vector>

#include "ir/expr/stmt.h"

// Return whether the statement reads or writes the buffer by loads, stores, reductions or
// asynchronous copies. A reduction reads its inputs; its reads of its outputs do not count.
namespace tcc {

bool Reads(const Stmt& stmt, const Var& buffer);
bool Writes(const Stmt& stmt, const Var& buffer);
bool Accesses(const Stmt& stmt, const Var& buffer);
bool Reads(const Expr& expr, const Var& buffer);
// Return whether every evaluation reads the buffer, no condition inside being in the way.
bool AlwaysReads(const Stmt& stmt, const Var& buffer);
bool AlwaysReads(const Expr& expr, const Var& buffer);
// Returns whether an index of the access depends on the variable.
bool Uses(const Access& access, const Var& var);

// Returns whether an Allocate in the statement declares the buffer.
bool IsAllocatedIn(const Stmt& stmt, const Var& buffer);

// Return the accesses of a leaf block in textual order, with indices in its iteration variables.
// Reads include those of its predicate.
std::vector<Access> WritesOf(const Block& block);
std::vector<Access> ReadsOf(const Block& block);

}  // namespace tcc
