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
#define TCC_BINARY(node)  \
  case ExprKind::k##node: \
    return Make<node>(a, b);
    TCC_BINARY(Add)
    TCC_BINARY(Sub)
    TCC_BINARY(Mul)
    TCC_BINARY(Div)
    TCC_BINARY(FloorDiv)
    TCC_BINARY(FloorMod)
    TCC_BINARY(CeilDiv)
    TCC_BINARY(Min)
    TCC_BINARY(Max)
    TCC_BINARY(Eq)
    TCC_BINARY(Ne)
    TCC_BINARY(Lt)
    TCC_BINARY(Le)
    TCC_BINARY(And)
    TCC_BINARY(Or)
#undef TCC_BINARY
    case ExprKind::kIntImm:
    case ExprKind::kFloatImm:
    case ExprKind::kVarNode:
    case ExprKind::kCast:
    case ExprKind::kNot:
    case ExprKind::kSelect:
    case ExprKind::kLoad:
    case ExprKind::kCall:
    case ExprKind::kRamp:
    case ExprKind::kBroadcast:
      break;
  }
  TCC_UNREACHABLE();
}

}  // namespace tcc
