#pragma once

#include "ir/expr/visitor.h"
#include "ir/simplify/interval.h"

namespace tcc {

// A Mutator that tracks the range of every enclosing loop variable.
class BoundedMutator : public Mutator {
 protected:
  explicit BoundedMutator(Bounds around = {}) : bounds_(std::move(around)) {}
  using Mutator::Rewrite;
  Stmt Rewrite(const For& loop) override;
  // Rewrites a loop while bounds() holds its variable's range.
  virtual Stmt RewriteLoop(const For& loop) { return RewriteChildren(loop); }
  const Bounds& bounds() const { return bounds_; }

 private:
  Bounds bounds_;
  std::vector<const For*> threads_;  // the threadIdx loops round the current statement
};

// Returns the range 0 .. extent - 1 of the loop's variable, as far as the extent is bounded.
Interval RangeOf(const For& loop, const Bounds& bounds);

}  // namespace tcc
