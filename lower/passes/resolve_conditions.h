#pragma once

#include "ir/expr/stmt.h"
#include "ir/simplify/interval.h"

namespace tcc {

// `stmt`, inside loops with these bounds, without the conditions that they decide.
Stmt ResolveConditions(const Stmt& stmt, const Bounds& bounds);

}  // namespace tcc
