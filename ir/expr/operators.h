#pragma once

#include <optional>
#include <string_view>

#include "ir/expr/expr.h"

// How the nodes with two operands of one type are written in the text form, for printer and parser.
namespace tcc {

// Binding strength; a higher one binds tighter. All associate to the left but comparisons, which do
// not associate.
inline constexpr int kOrPrecedence = 1;
inline constexpr int kAndPrecedence = 2;
inline constexpr int kComparePrecedence = 3;
inline constexpr int kSumPrecedence = 4;
inline constexpr int kProductPrecedence = 5;
inline constexpr int kPrimaryPrecedence = 6;

// What the operand types are worth.
enum class OperandRule : uint8_t {
  kBool,        // bools to bool
  kComparison,  // any type to bool
  kNumeric,     // floats or integers
  kOrdered,     // any type that can be computed with, bool included
  kInteger,
  kFloat,
};

// Returns whether the node compares two operands of one type; its own type is bool.
constexpr bool IsComparison(ExprKind kind) {
  return kind == ExprKind::kEq || kind == ExprKind::kNe || kind == ExprKind::kLt ||
         kind == ExprKind::kLe;
}

struct BinaryOperator {
  ExprKind kind;
  std::string_view text;
  int precedence;  // kPrimaryPrecedence: written as a function, min(x, y)
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

// nullptr for a kind that has no two operands of one type.
const BinaryOperator* OperatorOf(ExprKind kind);
const BinaryOperator* FindOperator(std::string_view text);
// Whether `rule` takes operands of this type, as the nodes' constructors check it.
bool Accepts(OperandRule rule, DType dtype);
// "a float" and the like, for messages.
std::string_view Describe(OperandRule rule);
// Expects the operands to have one type that the operator's rule accepts.
Expr MakeBinary(ExprKind kind, const Expr& a, const Expr& b);

}  // namespace tcc
