#pragma once

#include <functional>

#include "ir/expr/stmt.h"

namespace tcc {

// As RewriteBottomUp where only statements change: the expressions of leaves are not looked at.
Stmt RewriteStatements(const Stmt& stmt, const std::function<Stmt(const Stmt&)>& after);

// Counts the Store statements in `stmt`.
int CountStores(const Stmt& stmt);

}  // namespace tcc
