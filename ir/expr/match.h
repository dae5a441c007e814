#pragma once

#include <optional>
#include <unordered_map>

#include "ir/expr/expr.h"

namespace tcc {

// What a variable of a pattern stands for.
enum class PatternVar : uint8_t {
  kIndex,     // an i64 scalar
  kPositive,  // an i64 scalar that is >= 1 because it divides
  kConstant,  // an i64 constant
  kBool,      // a bool
  kInteger,   // any integer type, of any number of lanes
  kNumber,    // any integer or floating-point type, of any number of lanes
};

// A variable for patterns; its dtype is i64, bool, i32 (kInteger) or f32 (kNumber).
Var MakePatternVar(PatternVar kind, std::string name);

// What the pattern's variables stand for.
using Bindings = std::unordered_map<const ExprNode*, Expr>;

// Whether `expr` has the shape of `pattern` with one expression for each variable: the same node
// kinds and constants; operands of Add, Mul, Min, Max, And, Or, Eq and Ne in either order.
// Constants of type i32 and f32 stand for that value in any integer or floating-point type.
std::optional<Bindings> Match(const Expr& pattern, const Expr& expr);

// `pattern` with its variables replaced. i32 and f32 constants take the type of their surroundings:
// `type` at the root.
Expr Instantiate(const Expr& pattern, const Bindings& bindings, DType type);

}  // namespace tcc
