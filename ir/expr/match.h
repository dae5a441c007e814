#pragma once

#include <optional>
#include <unordered_map>

#include "ir/expr/expr.h"

namespace tcc {

// The kind of expression that a pattern variable matches.
enum class PatternVar : uint8_t {
  kBool,
  kInteger,  // any integer type, of any number of lanes
  kNumber,   // any integer or floating-point type, of any number of lanes
};

// Makes a pattern variable; its dtype is bool, i32 (kInteger) or f32 (kNumber).
Var MakePatternVar(PatternVar kind, std::string name);

// The expressions that the pattern's variables matched.
using Bindings = std::unordered_map<const ExprNode*, Expr>;

// Matches `expr` against `pattern` with one expression per variable: the same node kinds and
// constants; operands of Add, Mul, Min, Max, And, Or, Eq and Ne match in either order. Constants of
// type i32 and f32 match that value in any integer or floating-point type.
std::optional<Bindings> Match(const Expr& pattern, const Expr& expr);

// Returns `pattern` with its variables replaced. i32 and f32 constants take the type of their
// surroundings: `type` at the root.
Expr Instantiate(const Expr& pattern, const Bindings& bindings, DType type);

}  // namespace tcc
