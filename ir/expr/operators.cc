#include "ir/expr/operators.h"

#include "support/check.h"

namespace tcc {

const BinaryOperator* FindOperator(std::string_view text) {
  for (const BinaryOperator& row : kBinaryOperators) {
    if (row.text == text) return &row;
  }
  return nullptr;
}

bool Accepts(OperandRule rule, DType dtype) {
  switch (rule) {
    case OperandRule::kBool:
      return dtype.is_bool();
    case OperandRule::kComparison:
      return true;
    case OperandRule::kNumeric:
      return dtype.is_float() || dtype.is_integer();
    case OperandRule::kOrdered:
      return !dtype.is_storage_only();
    case OperandRule::kInteger:
      return dtype.is_integer();
    case OperandRule::kFloat:
      return dtype.is_float();
  }
  return false;
}

std::string_view Describe(OperandRule rule) {
  switch (rule) {
    case OperandRule::kBool:
      return "bool";
    case OperandRule::kComparison:
      return "a value";
    case OperandRule::kNumeric:
      return "a float or an integer";
    case OperandRule::kOrdered:
      return "a float, an integer or bool";
    case OperandRule::kInteger:
      return "an integer";
    case OperandRule::kFloat:
      return "a float";
  }
  return "";
}

Expr MakeBinary(ExprKind kind, const Expr& a, const Expr& b) {
  switch (kind) {
#define TCC_BINARY(node)                                          \
  case ExprKind::k##node:                                         \
    if constexpr (std::is_base_of_v<Binary<node::kKind>, node>) { \
      return Make<node>(a, b);                                    \
    }                                                             \
    break;
    TCC_EXPR_KINDS(TCC_BINARY)
#undef TCC_BINARY
  }
  TCC_UNREACHABLE();
}

}  // namespace tcc
