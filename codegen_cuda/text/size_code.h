#pragma once

#include <span>

#include "ir/expr/expr.h"
#include "runtime/artefact/size_expr.h"

namespace tcc {

// An i64 expression over `shapes` as code for the runtime; the i-th of them is variable i. Expects
// no other variable, and nothing but constants, sums, differences, products, divisions,
// remainders, minima and maxima: what sizes of grids and workspaces are made of.
SizeExpr SizeCodeOf(const Expr& expr, std::span<const Var> shapes);

}  // namespace tcc
