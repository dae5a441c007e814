#pragma once

#include <map>
#include <unordered_map>

#include "ir/expr/substitute.h"
#include "ir/interpret/interpret_code.h"

namespace tcc::interpret {

// The meaning of a variable while an expression is compiled.
struct Meaning {
  enum Kind { kSlot, kLane, kNode } kind = kSlot;
  int index = 0;  // of the slot, the lane loop or the node
  int depth = 0;
};

// A compiler that appends expressions to an ExprCode. Equal nodes get one number.
class ExprCompiler {
 public:
  ExprCompiler(ExprCode& code, const std::unordered_map<Var, int, VarHash>& buffers)
      : code_(code), buffers_(buffers) {}

  void Bind(const Var& var, Meaning meaning) { meanings_[var] = meaning; }
  // Notes that the leaf itself writes `buffer`, so that a load from it changes with every instance.
  void MarkWritten(const Var& buffer) { written_.push_back(buffer); }

  int Compile(const Expr& expr);
  int CompileAccess(const Var& buffer, const std::vector<Expr>& indices);
  int LoadOf(int access, DType dtype);
  int Integer(int64_t value);
  int Binary(ExprKind kind, int a, int b, DType dtype);

 private:
  int CompileNode(const Expr& expr);
  int CompileVar(const VarNode& var);
  int CompileBinary(const Expr& expr, const Expr& a, const Expr& b);
  int Append(Node node);
  IndexCode Decompose(int node);
  IndexCode Difference(int a, int b);
  int AddParts(int a, int b, ExprKind kind);

  ExprCode& code_;
  const std::unordered_map<Var, int, VarHash>& buffers_;
  std::unordered_map<Var, Meaning, VarHash> meanings_;
  std::vector<Var> written_;
  std::unordered_map<const ExprNode*, int> memo_;
  std::vector<Expr> kept_;  // keeps the memo's keys alive
  std::map<std::vector<int64_t>, int> numbers_;
};

}  // namespace tcc::interpret
