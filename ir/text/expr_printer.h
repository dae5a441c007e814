#pragma once

#include <optional>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "ir/expr/stmt.h"

namespace tcc {

// The names of the variables of one text: the hint, or the hint with the first free suffix _1, _2,
// ... in order of definition. Names are unique in the text, except that a block's iteration
// variable may share a name with anything that the block's body does not use: blocks read `block
// mm(i: spatial 13 = i)`. Parsing and printing such a text gives the same names again.
class Namer {
 public:
  // Names a variable at its definition; iteration variables are named by EnterBlock.
  const std::string& Define(const Var& var);

  // Begin and end the scope in which the iteration variables of `block` have names.
  void EnterBlock(const Block& block);
  void LeaveBlock(const Block& block);

  // Returns the name; a variable that was never defined is defined by its first use.
  const std::string& NameOf(const Var& var);

 private:
  std::unordered_map<const ExprNode*, std::string> names_;
  std::unordered_set<std::string> taken_;               // names given by Define
  std::unordered_map<std::string, int> next_suffix_;    // used by Define
  std::unordered_map<std::string, int> visible_iters_;  // the number of visible ones
};

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
