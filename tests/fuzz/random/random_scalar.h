#pragma once

#include <vector>

#include "ir/expr/evaluate.h"
#include "ir/simplify/interval.h"
#include "support/random.h"

namespace tcc {

// Random scalar expressions over a few variables: loops, positive tiles, a bool, an i32, a u8 and
// two floats, with the bounds that they are meant under.
class ScalarGenerator {
 public:
  explicit ScalarGenerator(Random& random);

  // Sums of loop variables times products of tiles, below div, mod and ceildiv by such products,
  // min and max: what splits and fusions make.
  Expr ScheduleIndex(int depth);
  // Any i64 arithmetic, with negative factors and choices too.
  Expr Index(int depth);
  Expr Bool(int depth);
  Expr Float(int depth);
  Expr Narrow(int depth, const Var& var);
  // sum coefficient * loop + rest, coefficients >= 0, some of them tiles.
  Expr AffineIndex();
  // A constant, a tile, or a product of both: always >= 1.
  Expr Positive();
  Expr AnyExpr();

  // Values within the bounds.
  ScalarAssignment Point();

  const Bounds& bounds() const { return bounds_; }
  const std::vector<Var>& loops() const { return loops_; }
  const std::vector<Var>& tiles() const { return tiles_; }

 private:
  const Var& OneOf(const std::vector<Var>& vars) { return vars[random_.Below(vars.size())]; }
  Expr Literal();

  Random& random_;
  std::vector<Var> loops_, tiles_;
  Var flag_, word_, byte_, real_, other_real_;
  Bounds bounds_;
};

}  // namespace tcc
