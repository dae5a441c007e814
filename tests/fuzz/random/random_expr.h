#pragma once

#include <string>
#include <utility>
#include <vector>

#include "ir/expr/combiner.h"
#include "support/random.h"

namespace tcc {

// What expressions may use.
struct VisibleVars {
  std::vector<Var> scalars;  // of any type, lanes too
  std::vector<Var> buffers;
};

// Hints that collide, need quotes or are keywords.
std::string RandomName(Random& random);
DType RandomElement(Random& random);
int RandomLanes(Random& random);
// A standard combiner, or one of a few others, some with direct forms.
Combiner RandomCombiner(Random& random);

// Well-typed expressions of every kind, of at most `depth` levels above the leaves.
class ExprGenerator {
 public:
  ExprGenerator(Random& random, const VisibleVars& vars) : random_(random), vars_(vars) {}

  Expr Make(DType dtype, int depth);

 private:
  // One level down, the first one first: arguments of a call have no order of evaluation.
  std::pair<Expr, Expr> Two(DType dtype, int depth);
  Expr Leaf(DType dtype);
  Expr Constant(DType dtype);
  Expr LoadOf(DType dtype, int depth);
  Expr Arithmetic(DType dtype, int depth);
  Expr Truth(DType dtype, int depth);
  Expr CallTo(DType dtype, int depth);
  Expr Vector(DType dtype, int depth);

  Random& random_;
  const VisibleVars& vars_;
};

}  // namespace tcc
