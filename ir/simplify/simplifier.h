#pragma once

#include <absl/container/flat_hash_map.h>

#include <utility>
#include <vector>

#include "ir/simplify/interval_arithmetic.h"
#include "ir/simplify/polynomial.h"

// The internals of Simplify; users include simplify.h.
namespace tcc {

// A simplifier of expressions under one set of bounds and one order of variables. It memoizes the
// results of shared subexpressions.
class Simplifier {
 public:
  explicit Simplifier(const Bounds& bounds) : bounds_(bounds), atoms_(order_) {}

  // Gives `var` the next rank of the canonical order; expressions number their variables when first
  // seen.
  void Number(const Var& var) { order_.RankOf(var.get()); }
  // Sets the bounds of `var`, before it is first seen in an expression.
  void SetBounds(const Var& var, Interval interval) { bounds_[var] = interval; }
  const Bounds& bounds() const { return bounds_; }

  Expr Run(const Expr& expr);
  // Returns the number of expressions that were simplified or expanded, without memoized results.
  int64_t steps() const { return steps_; }

 private:
  // simplify_integer.cc. Functions for i64 scalars.
  Polynomial ToPolynomial(const Expr& expr);
  // Does not join quotients and remainders; that is for whole sums.
  Polynomial Expand(const Expr& expr);
  Polynomial ExpandArithmetic(const Expr& expr, const Expr& left, const Expr& right);
  Polynomial AtomOf(const Expr& atom);
  Expr Render(const Polynomial& polynomial) { return ToExpr(polynomial, atoms_); }
  Interval BoundsOfAtom(AtomId atom);
  Interval BoundsOfPolynomial(const Polynomial& polynomial);
  // Returns `otherwise`, or the bounds with d * (x div d) within d of x, for numbers d; ceildiv
  // likewise: x <= d * ceildiv(x, d), whatever x is.
  Interval BoundsOfMultiples(const Polynomial& polynomial, Interval otherwise);
  // Returns the atom that the polynomial consists of, with factor 1 and no constant, else nullptr.
  const Expr* SoleAtom(const Polynomial& polynomial) const;
  Polynomial JoinRemainders(Polynomial sum);
  std::optional<Polynomial> JoinOneRemainder(const Polynomial& sum, const Term& term);

  // simplify_division.cc
  Polynomial Divide(ExprKind kind, const Polynomial& dividend, const Polynomial& divisor);
  Polynomial DivideRest(ExprKind kind, const Polynomial& rest, const Polynomial& divisor);
  std::optional<Polynomial> DivideByBounds(ExprKind kind, const Polynomial& rest,
                                           const Polynomial& divisor);
  std::optional<Polynomial> CancelFactor(ExprKind kind, const Polynomial& rest,
                                         const Polynomial& divisor);
  std::optional<Polynomial> SplitByFactor(ExprKind kind, const Polynomial& rest, int64_t divisor);
  std::optional<Polynomial> DivideNested(ExprKind kind, const Polynomial& rest,
                                         const Polynomial& divisor);

  // simplify_minmax.cc
  Polynomial MinOrMax(ExprKind kind, const Polynomial& a, const Polynomial& b);

  // simplify_logic.cc. Functions for comparisons, bools, and all that is no i64 arithmetic.
  Expr Compare(ExprKind kind, const Expr& a, const Expr& b);
  Expr CompareToZero(ExprKind kind, Polynomial difference);
  Expr AndOr(ExprKind kind, const Expr& a, const Expr& b);
  Expr RunOther(const Expr& expr);
  Expr RebuildChildren(const Expr& expr);

  Bounds bounds_;
  int64_t steps_ = 0;
  VarOrder order_;
  AtomTable atoms_;
  std::vector<std::pair<bool, Interval>> atom_bounds_;
  // The pairs keep the keys alive, since a freed node's address could be reused.
  absl::flat_hash_map<const ExprNode*, std::pair<Expr, Expr>> results_;
  absl::flat_hash_map<const ExprNode*, std::pair<Expr, Polynomial>> polynomials_;
  absl::flat_hash_map<const ExprNode*, std::pair<Expr, Polynomial>> expanded_;
};

// Simplifies every expression of the statement, in the simplifier's order of variables.
Stmt Simplify(const Stmt& stmt, Simplifier& simplifier);

// Applies one rule of the tables at the root, or returns nullopt. The result is not simplified yet.
std::optional<Expr> ApplyRules(const Expr& expr);

// simplify_minmax.cc. Functions for nested Min, Max, And or Or as a list of operands.
// Appends the operands in order; any other expression is its own single operand.
void AppendOperands(ExprKind kind, const Expr& expr, std::vector<Expr>& operands);
// Replaces the first two operands that a rule merges, by absorption for instance, by what they
// become. Returns false if there are none.
bool MergeTwo(ExprKind kind, std::vector<Expr>& operands);
Expr Joined(ExprKind kind, const std::vector<Expr>& operands);

}  // namespace tcc
