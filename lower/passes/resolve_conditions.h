#pragma once

#include "ir/expr/stmt.h"
#include "ir/simplify/interval.h"

namespace tcc {

// Returns `stmt` without the conditions that are decided by `bounds`, those of the enclosing loops.
Stmt ResolveConditions(const Stmt& stmt, const Bounds& bounds);

}  // namespace tcc
