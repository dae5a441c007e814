#pragma once

#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "ir/expr/expr.h"
#include "ir/text/token_cursor.h"

namespace tcc {

// A map from names to the variables that are visible at the current place in the text.
class NameScope {
 public:
  // Returns a null Var where the name is not visible.
  Var Find(const std::string& name) const;
  // Hides an outer variable of the same name until Leave.
  void Define(const std::string& name, const Var& var);
  // Leave forgets all definitions made after Mark.
  size_t Mark() const { return order_.size(); }
  void Leave(size_t mark);

 private:
  std::unordered_map<std::string, std::vector<Var>> visible_;
  std::vector<std::string> order_;
};

using TypeHint = std::optional<DType>;

// A parser of expressions that gives numbers their types (docs/text_format.md, "Types of numbers").
// Everything that a node's constructor checks is checked here first and is a Status.
class ExprParser {
 public:
  ExprParser(TokenCursor& cursor, const NameScope& scope) : cursor_(cursor), scope_(scope) {}

  // Parses an expression whose operators bind at least as tightly as `precedence`.
  StatusOr<Expr> Parse(TypeHint hint, int precedence = 0);
  // Parses an expression of exactly this type.
  StatusOr<Expr> ParseTyped(DType dtype, int precedence = 0);
  // Parses "[i, j]", elements of i64.
  StatusOr<std::vector<Expr>> Indices();
  // Parses "[n, m]", i64 scalars.
  StatusOr<std::vector<Expr>> Sizes();
  // Parses a visible buffer's name.
  StatusOr<Var> BufferName();

 private:
  // A number as written; `value` is exact for floats, `magnitude` for integers.
  struct Number {
    bool is_float = false;
    bool negative = false;
    uint64_t magnitude = 0;
    double value = 0;
  };
  // An Expr, or a number whose type is not known yet.
  struct Operand {
    Expr expr;
    Number number;
    Token at;
    int depth = 1;  // of the tree
  };
  static Operand At(const Token& token) {
    Operand operand;
    operand.at = token;
    return operand;
  }

  StatusOr<Operand> Binary(TypeHint hint, int precedence);
  StatusOr<Operand> Unary(TypeHint hint);
  StatusOr<Operand> Primary(TypeHint hint);
  StatusOr<Operand> NumberOperand();
  StatusOr<Operand> NanOperand(Operand operand);
  StatusOr<Operand> Variable();
  StatusOr<Operand> LoadOperand();
  StatusOr<Operand> ScalarIndex();
  // Parses NAME(...); `operand` has the position of the name.
  StatusOr<Operand> Function(TypeHint hint);
  StatusOr<Operand> CallOperand(ScalarOp op, TypeHint hint, Operand operand);
  StatusOr<Operand> CastOperand(DType dtype, Operand operand);
  StatusOr<Operand> SelectOperand(TypeHint hint, Operand operand);
  StatusOr<Operand> RampOperand(Operand operand);
  StatusOr<Operand> BroadcastOperand(TypeHint hint, Operand operand);

  // Parses "x, y", values of one type.
  StatusOr<std::vector<Operand>> Operands(TypeHint hint, size_t count);
  Status Unify(TypeHint hint, std::vector<Operand>& operands);
  StatusOr<Operand> Combine(ExprKind kind, const Token& at, const Operand& a, const Operand& b);
  Status Settle(Operand& operand, TypeHint hint);
  StatusOr<Operand> Built(Operand operand, Expr expr, int child_depth);
  StatusOr<std::vector<Expr>> List(bool scalars, int& depth);

  TokenCursor& cursor_;
  const NameScope& scope_;
};

}  // namespace tcc
