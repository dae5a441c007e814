#pragma once

#include <optional>
#include <string_view>

#include "ir/expr/expr.h"

// The text form of nodes with two operands of one type, for printer and parser.
namespace tcc {

// The precedences; a higher one binds tighter. All operators associate to the left, except
// comparisons, which do not associate.
inline constexpr int kOrPrecedence = 1;
inline constexpr int kAndPrecedence = 2;
inline constexpr int kComparePrecedence = 3;
inline constexpr int kSumPrecedence = 4;
inline constexpr int kProductPrecedence = 5;
inline constexpr int kPrimaryPrecedence = 6;

// The operand types that an operator accepts.
enum class OperandRule : uint8_t {
  kBool,        // bools to bool
  kComparison,  // any type to bool
  kNumeric,     // floats or integers
  kOrdered,     // any type except storage types, bool included
  kInteger,
  kFloat,
};

// Returns whether the node compares two operands of one type; its own type is bool.
constexpr bool IsComparison(ExprKind kind) {
  return kind == ExprKind::kEq || kind == ExprKind::kNe || kind == ExprKind::kLt ||
         kind == ExprKind::kLe;
}

// Returns whether a op b and b op a have the same value.
constexpr bool IsCommutative(ExprKind kind) {
  return kind == ExprKind::kAdd || kind == ExprKind::kMul || kind == ExprKind::kMin ||
         kind == ExprKind::kMax || kind == ExprKind::kAnd || kind == ExprKind::kOr ||
         kind == ExprKind::kEq || kind == ExprKind::kNe;
}

struct BinaryOperator {
  ExprKind kind;
  std::string_view text;
  int precedence;  // kPrimaryPrecedence: a function, min(x, y)
  OperandRule rule;
};

inline constexpr BinaryOperator kBinaryOperators[] = {
    {ExprKind::kOr, "||", kOrPrecedence, OperandRule::kBool},
    {ExprKind::kAnd, "&&", kAndPrecedence, OperandRule::kBool},
    {ExprKind::kEq, "==", kComparePrecedence, OperandRule::kComparison},
    {ExprKind::kNe, "!=", kComparePrecedence, OperandRule::kComparison},
    {ExprKind::kLt, "<", kComparePrecedence, OperandRule::kComparison},
    {ExprKind::kLe, "<=", kComparePrecedence, OperandRule::kComparison},
    {ExprKind::kAdd, "+", kSumPrecedence, OperandRule::kNumeric},
    {ExprKind::kSub, "-", kSumPrecedence, OperandRule::kNumeric},
    {ExprKind::kMul, "*", kProductPrecedence, OperandRule::kNumeric},
    {ExprKind::kDiv, "/", kProductPrecedence, OperandRule::kFloat},
    {ExprKind::kFloorDiv, "div", kProductPrecedence, OperandRule::kInteger},
    {ExprKind::kFloorMod, "mod", kProductPrecedence, OperandRule::kInteger},
    {ExprKind::kCeilDiv, "ceildiv", kPrimaryPrecedence, OperandRule::kInteger},
    {ExprKind::kMin, "min", kPrimaryPrecedence, OperandRule::kOrdered},
    {ExprKind::kMax, "max", kPrimaryPrecedence, OperandRule::kOrdered},
};

// Return nullptr if there is no such operator of two operands of one type.
constexpr const BinaryOperator* OperatorOf(ExprKind kind) {
  for (const BinaryOperator& row : kBinaryOperators) {
    if (row.kind == kind) return &row;
  }
  return nullptr;
}
const BinaryOperator* FindOperator(std::string_view text);
// Returns whether `rule` accepts operands of this type; the nodes' constructors check it.
bool Accepts(OperandRule rule, DType dtype);
// Returns "a float" and the like, for messages.
std::string_view Describe(OperandRule rule);
// Makes the node; expects operands of one type that the operator's rule accepts.
Expr MakeBinary(ExprKind kind, const Expr& a, const Expr& b);

}  // namespace tcc
