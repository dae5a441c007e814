#pragma once

#include <functional>
#include <span>

#include "ir/expr/expr.h"
#include "runtime/artefact/size_expr.h"

// Formulas over Shape variables as the code that the runtime evaluates.
namespace tcc {

// Returns whether a formula has such code: one of integers and bools (1 and 0 in code) over Shape
// variables, without calls and loads.
bool HasSizeCode(const Expr& formula);

// Encodes a formula over `shapes`; the i-th shape is variable i. Expects HasSizeCode and no other
// variable. A divisor that may be below 1 counts as 1 there, since code evaluates both arms of a
// select.
SizeExpr SizeCodeOf(const Expr& formula, std::span<const Var> shapes);

// Encodes a formula whose variables and operands `code_of` encodes.
using OperandCode = std::function<SizeExpr(const Expr&)>;
SizeExpr SizeCodeOf(const Expr& formula, const OperandCode& code_of);

}  // namespace tcc
