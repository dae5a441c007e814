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

// Evaluates a scalar expression for the given values of its variables. Floats are kept as doubles;
// only a Cast rounds, as in the interpreter. nullopt: a load, a variable without a value, a divisor
// below 1, overflow of i64, a float cast out of range; operands that Select, And and Or do not
// evaluate do no harm. This is a plain recursion over the tree, independent of the simplifier,
// whose tests compare against it.
std::optional<ScalarValue> Evaluate(const Expr& expr, const ScalarAssignment& values);

// Evaluates an expression of integers and bools.
std::optional<int64_t> EvaluateInt(const Expr& expr, const Assignment& values);

// Evaluates an expression of integers and bools at the usual values of its Shape variables; nullopt
// if it has another variable too. Costs and choices of schedules ask for it, meanings never.
std::optional<int64_t> AtUsual(const Expr& expr);

}  // namespace tcc
