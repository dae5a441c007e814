#pragma once

#include <map>
#include <string>
#include <vector>

#include "ir/expr/stmt.h"
#include "ir/text/expr_parser.h"

namespace tcc {

// A parser of statements and buffer declarations. Everything that a node's constructor checks is
// checked here first and is a Status.
class StmtParser {
 public:
  // `combiners` maps names to the combiners defined in the text; standard ones need no entry.
  StmtParser(TokenCursor& cursor, NameScope& scope,
             const std::map<std::string, Combiner>& combiners)
      : cursor_(cursor), scope_(scope), exprs_(cursor, scope), combiners_(combiners) {}

  // Parses "{ ... }".
  StatusOr<Stmt> Body();
  // Parses "NAME: f32[n] ..."; the buffer is visible from here on.
  StatusOr<Buffer> Declaration();

 private:
  // A Let or Allocate that waits for its body.
  struct Binder {
    Var var;
    Expr value;  // null: an Allocate
    Buffer buffer;
  };
  struct OpenList {
    std::vector<Stmt> before;
    Binder binder;
  };

  StatusOr<std::vector<Stmt>> Braces();
  StatusOr<std::vector<Stmt>> List();
  StatusOr<Binder> BinderHeader();
  static Stmt Close(const Binder& binder, Stmt body);
  StatusOr<Stmt> Statement();
  StatusOr<Stmt> ForStatement();
  StatusOr<Stmt> BlockStatement();
  StatusOr<Stmt> IfStatement();
  StatusOr<Stmt> ReduceStatement();
  StatusOr<Stmt> BarrierStatement();
  StatusOr<Stmt> AsyncCopyStatement();
  template <AsyncKind what>
  StatusOr<Stmt> WaitStatement();
  StatusOr<Stmt> PrefetchStatement();
  StatusOr<Stmt> IntrinsicStatement();
  StatusOr<Stmt> StoreStatement();

  StatusOr<std::vector<IterVar>> Iterations(std::vector<std::string>& names);
  StatusOr<std::vector<LoopGuard>> Guards();
  StatusOr<Access> AccessOf();
  StatusOr<Expr> Size() { return exprs_.ParseTyped(kInt64); }
  Status Attribute(Buffer& buffer, bool& found);
  Status Blocks(Layout& layout);
  Status Swizzle(XorSwizzle& swizzle);
  StatusOr<Combiner> CombinerNamed();
  // Parses a name that is not visible yet.
  StatusOr<Token> FreshName(std::string_view what);

  TokenCursor& cursor_;
  NameScope& scope_;
  ExprParser exprs_;
  const std::map<std::string, Combiner>& combiners_;
  int open_binders_ = 0;
};

}  // namespace tcc
