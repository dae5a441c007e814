#pragma once

#include <functional>

#include "ir/expr/stmt.h"

namespace tcc {

// Rewrites statements bottom up, like RewriteBottomUp, but does not visit the expressions of
// leaves.
Stmt RewriteStatements(const Stmt& stmt, const std::function<Stmt(const Stmt&)>& after);

// Counts the Store statements in `stmt`.
int CountStores(const Stmt& stmt);

// Returns whether the statement has loops over the threads or blocks of a GPU.
bool IsOverThreads(const Stmt& stmt);

}  // namespace tcc
