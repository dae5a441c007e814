#pragma once

#include <optional>
#include <vector>

#include "ir/expr/substitute.h"

namespace tcc {

// The form sum coefficients[i] * vars[i] + rest, where neither coefficients nor rest use the vars.
// Coefficients may be symbolic (Tile and Shape variables, CeilDivs of them).
struct AffineForm {
  std::vector<Var> vars;  // the ones that occur, in the caller's order
  std::vector<Expr> coefficients;
  Expr rest;
};

// Returns `expr` as an affine form in `vars`; nullopt where it is not affine (a var under div, mod,
// min, max, a product of two vars). The analysis is purely structural and uses no prover, so it
// gives the same answer for free and known sizes. Coefficients and rest are not simplified beyond
// collecting terms of a variable.
std::optional<AffineForm> ToAffine(const Expr& expr, const std::vector<Var>& vars);

// The box that `index` covers while each vars[i] runs over lows[i] .. lows[i] + sizes[i] - 1:
// origin = index at the lows, size = 1 + sum coefficient * (size - 1). Needs coefficients >= 0,
// which is the caller's promise for symbolic ones; BoxOf refuses (nullopt) negative constant ones.
// x div s of an affine x gives size (size_x + s - 2) div s + 1. (reference: symbolic_schedule,
// "Formulas".)
struct IndexBox {
  Expr origin;
  Expr size;
};
std::optional<IndexBox> BoxOf(const Expr& index, const std::vector<Var>& vars,
                              const std::vector<Expr>& lows, const std::vector<Expr>& sizes);

}  // namespace tcc
