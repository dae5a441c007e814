#pragma once

#include "ir/expr/substitute.h"
#include "ir/expr/visitor.h"
#include "ir/simplify/interval.h"

namespace tcc {

// A Mutator that tracks the range and the extent of every enclosing loop variable.
class BoundedMutator : public Mutator {
 protected:
  explicit BoundedMutator(Bounds around = {}) : bounds_(std::move(around)) {}
  using Mutator::Rewrite;
  Stmt Rewrite(const For& loop) override;
  // Rewrites a loop while bounds() holds its variable's range.
  virtual Stmt RewriteLoop(const For& loop) { return RewriteChildren(loop); }
  const Bounds& bounds() const { return bounds_; }
  // Proves a condition by the ranges, or, where it depends on Shape variables, by the extents: a
  // range forgets that the variable of a loop of extent n is below n.
  Proof ProveInLoops(const Expr& condition) const;

 private:
  Bounds bounds_;
  Substitution extents_;             // of the loops around that bind no thread
  std::vector<const For*> threads_;  // the threadIdx loops round the current statement
};

// Returns the range 0 .. extent - 1 of the loop's variable, as far as the extent is bounded.
Interval RangeOf(const For& loop, const Bounds& bounds);

}  // namespace tcc
