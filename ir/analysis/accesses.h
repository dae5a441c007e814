#pragma once

#include <vector>

#include "ir/expr/stmt.h"

// What statements read and write: by loads, stores, reductions and asynchronous copies. A
// reduction reads its inputs; that it reads its outputs too is not counted.
namespace tcc {

bool Reads(const Stmt& stmt, const Var& buffer);
bool Writes(const Stmt& stmt, const Var& buffer);
bool Accesses(const Stmt& stmt, const Var& buffer);
bool Reads(const Expr& expr, const Var& buffer);
// Returns whether an index of the access depends on the variable.
bool Uses(const Access& access, const Var& var);

// Of a leaf block, in the order of its text, indices in its iteration variables. Reads are those of
// its predicate and its body.
std::vector<Access> WritesOf(const Block& block);
std::vector<Access> ReadsOf(const Block& block);

}  // namespace tcc
