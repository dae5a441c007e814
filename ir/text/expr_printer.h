#pragma once

#include <optional>
#include <string>
#include <vector>

#include "ir/text/namer.h"

namespace tcc {

// The type that a number without a suffix takes from its surroundings; printer and parser pass it
// down by the same rules (docs/text_format.md, "Types of numbers").
using TypeHint = std::optional<DType>;

// A printer of expressions. Numbers carry their type only where the parser could not infer it.
class ExprPrinter {
 public:
  explicit ExprPrinter(Namer& names) : names_(names) {}

  // Appends `expr`, in parentheses where it binds less tightly than `precedence`.
  void Print(const Expr& expr, TypeHint hint, int precedence, std::string& out);
  std::string Text(const Expr& expr, TypeHint hint = std::nullopt, int precedence = 0);
  // Returns i64 values in brackets: "[i, j + 1]".
  std::string Brackets(const std::vector<Expr>& exprs);
  // Returns "A[i, j]".
  std::string AccessText(const Var& buffer, const std::vector<Expr>& indices);

 private:
  struct NodePrinter;
  void PrintOperands(const std::vector<Expr>& operands, TypeHint hint, std::string& out);

  Namer& names_;
};

// Returns the type that a store gives to its value: the buffer's, with the lanes of the indices.
DType StoredType(const Var& buffer, const std::vector<Expr>& indices);

}  // namespace tcc
