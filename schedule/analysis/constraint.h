#pragma once

#include <string>
#include <vector>

#include "ir/expr/expr.h"

namespace tcc {

// `expr` <= 0 must hold at a point for a step to be legal there. With an empty list the step is
// legal at every point.
struct Constraint {
  Expr expr;
  std::string why;
};
using Constraints = std::vector<Constraint>;

}  // namespace tcc
