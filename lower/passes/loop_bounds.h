#pragma once

#include "ir/expr/visitor.h"
#include "ir/simplify/interval.h"

namespace tcc {

// A Mutator that knows the range of every loop variable it is inside of.
class BoundedMutator : public Mutator {
 protected:
  explicit BoundedMutator(Bounds around = {}) : bounds_(std::move(around)) {}
  using Mutator::Rewrite;
  Stmt Rewrite(const For& loop) override;
  // What a loop becomes, with its variable's range in bounds().
  virtual Stmt RewriteLoop(const For& loop) { return RewriteChildren(loop); }
  const Bounds& bounds() const { return bounds_; }

 private:
  Bounds bounds_;
  std::vector<const For*> threads_;  // threadIdx loops round the current statement
};

// 0 .. extent - 1, as far as the extent is bounded.
Interval RangeOf(const For& loop, const Bounds& bounds);

}  // namespace tcc
