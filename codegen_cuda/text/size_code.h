#pragma once

#include <span>

#include "ir/expr/expr.h"
#include "runtime/artefact/size_expr.h"

namespace tcc {

// Encodes an i64 expression over `shapes` for the runtime; the i-th shape is variable i. Expects no
// other variable, and only the operations that sizes of grids and workspaces consist of: constants,
// sums, differences, products, divisions, remainders, minima and maxima.
SizeExpr SizeCodeOf(const Expr& expr, std::span<const Var> shapes);

}  // namespace tcc
