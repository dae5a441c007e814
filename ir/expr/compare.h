#pragma once

#include "ir/expr/function.h"

namespace tcc {

// Return whether two values have the same structure over the same variables. Hints (names of
// variables) are ignored; names of blocks and keys of loops count.
bool Equal(const Expr& a, const Expr& b);
bool Equal(const Stmt& a, const Stmt& b);
bool Equal(const Combiner& a, const Combiner& b);

// Return whether two values are Equal up to a one-to-one renaming of the variables that are bound
// inside: loops, iteration variables, lets, buffers; for functions also parameters and, in their
// order, `vars`. Free variables must be the same.
bool AlphaEqual(const Stmt& a, const Stmt& b);
bool AlphaEqual(const Function& a, const Function& b);

// The hash and equality for containers keyed by structure.
struct ExprHash {
  size_t operator()(const Expr& expr) const { return expr->hash; }
};
struct ExprEqual {
  bool operator()(const Expr& a, const Expr& b) const { return Equal(a, b); }
};
struct VarHash {
  size_t operator()(const Var& var) const { return reinterpret_cast<size_t>(var.get()) >> 4; }
};

}  // namespace tcc
