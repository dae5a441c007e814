#pragma once

#include <cstdint>
#include <optional>
#include <unordered_map>

#include "ir/expr/compare.h"
#include "ir/expr/expr.h"

namespace tcc {

// The value of a scalar expression: `integer` for integers and bools, `real` for floats.
struct ScalarValue {
  int64_t integer = 0;
  double real = 0;
};

using Assignment = std::unordered_map<Var, int64_t, VarHash>;
using ScalarAssignment = std::unordered_map<Var, ScalarValue, VarHash>;

// The value of a scalar expression where its variables have the given values. Floats are kept as
// doubles; only a Cast rounds (as the interpreter does). nullopt: a load, a variable without a
// value, a divisor below 1, an i64 that overflows, a float cast out of range; operands that Select,
// And and Or do not evaluate do no harm. Plain recursion over the tree, apart from everything that
// the simplifier does: it is what the simplifier is held against.
std::optional<ScalarValue> Evaluate(const Expr& expr, const ScalarAssignment& values);

// The same for expressions of integers and bools.
std::optional<int64_t> EvaluateInt(const Expr& expr, const Assignment& values);

}  // namespace tcc
