#pragma once

#include <absl/container/flat_hash_map.h>

#include <array>
#include <functional>
#include <unordered_set>

#include "ir/expr/function.h"
#include "support/check.h"

// Traversal and rewriting, generated from the two node lists and the nodes' Fields().
namespace tcc {

// Calls f with the node as its own type; every branch of f must return the same type.
template <typename F>
decltype(auto) VisitExpr(const Expr& expr, F&& f) {
  switch (expr.kind()) {
#define TCC_VISIT(node)   \
  case ExprKind::k##node: \
    return f(static_cast<const node&>(*expr));
    TCC_EXPR_KINDS(TCC_VISIT)
#undef TCC_VISIT
  }
  TCC_UNREACHABLE();
}

template <typename F>
decltype(auto) VisitStmt(const Stmt& stmt, F&& f) {
  switch (stmt.kind()) {
#define TCC_VISIT(node)   \
  case StmtKind::k##node: \
    return f(static_cast<const node&>(*stmt));
    TCC_STMT_KINDS(TCC_VISIT)
#undef TCC_VISIT
  }
  TCC_UNREACHABLE();
}

// Several lambdas as one visitor: VisitExpr(e, Overloaded{[](const Add& add) {...}, [](const auto&)
// {...}}).
template <typename... Fs>
struct Overloaded : Fs... {
  using Fs::operator()...;
};
template <typename... Fs>
Overloaded(Fs...) -> Overloaded<Fs...>;

// Call f on every Expr (or Stmt) directly in a field of the node, in field order, also inside
// nested lists and structs (indices, iteration variables, windows). Buffer variables of Load and
// Store count, as do loop variables of For.
void ForEachChild(const Expr& expr, const std::function<void(const Expr&)>& f);
void ForEachExpr(const Stmt& stmt, const std::function<void(const Expr&)>& f);
void ForEachChild(const Stmt& stmt, const std::function<void(const Stmt&)>& f);

// Visit every node below, the root first, each shared expression once.
void PreOrder(const Expr& expr, const std::function<void(const Expr&)>& f);
void PreOrder(const Stmt& stmt, const std::function<void(const Stmt&)>& f);
// Return whether `test` holds for a node below, the root included.
bool Contains(const Expr& expr, const std::function<bool(const Expr&)>& test);
bool Contains(const Stmt& stmt, const std::function<bool(const Stmt&)>& test);
// Visits every expression of every statement below.
void PreOrderExprs(const Stmt& stmt, const std::function<void(const Expr&)>& f);

bool UsesVar(const Expr& expr, const Var& var);
bool UsesVar(const Stmt& stmt, const Var& var);
// Returns the variables in order of first occurrence, buffers excluded.
std::vector<Var> VarsOf(const Expr& expr);

// A rewriter that works bottom up or as its overrides say. An override returns any Expr or Stmt;
// the default is RewriteChildren. Unchanged subtrees stay the same node, and a shared Expr is
// rewritten once. A pass subclasses Mutator in its .cc file and overrides the nodes that it
// changes. Definitions (For::var, IterVar::var, Let::var, Buffer::var) are rewritten like uses, so
// that a substitution of one variable for another renames.
class Mutator {
 public:
  virtual ~Mutator() = default;
  Expr Mutate(const Expr& expr);
  Stmt Mutate(const Stmt& stmt);
  Function Mutate(const Function& fn);

 protected:
#define TCC_MUTATE_EXPR(node) virtual Expr Rewrite(const node& expr);
  TCC_EXPR_KINDS(TCC_MUTATE_EXPR)
#undef TCC_MUTATE_EXPR
#define TCC_MUTATE_STMT(node) virtual Stmt Rewrite(const node& stmt);
  TCC_STMT_KINDS(TCC_MUTATE_STMT)
#undef TCC_MUTATE_STMT
  virtual Buffer RewriteBuffer(const Buffer& buffer);

  template <typename Node>
  Expr RewriteChildren(const Node& node)
    requires std::is_base_of_v<ExprNode, Node>;
  template <typename Node>
  Stmt RewriteChildren(const Node& node)
    requires std::is_base_of_v<StmtNode, Node>;

  // Clears the memo. Overrides whose result depends on the context (e.g. the enclosing loop) call
  // this when the context changes.
  void ForgetRewritten() { memo_.Clear(); }

 private:
  friend class FieldMutator;

  // The results of expressions. The first few need no heap memory. The expressions are kept alive,
  // since a freed node's address could be reused.
  class Memo {
   public:
    const Expr* Find(const ExprNode* node) const;
    void Add(const Expr& expr, const Expr& result);
    void Clear();

   private:
    size_t few_count_ = 0;
    std::array<std::pair<Expr, Expr>, 8> few_;
    absl::flat_hash_map<const ExprNode*, std::pair<Expr, Expr>> more_;
  };
  Memo memo_;
};

// Returns whether the expression reads memory by a Load.
bool HasLoad(const Expr& expr);
// Returns the number of nodes in the expression's text: a shared node counts at every use.
double WrittenSize(const Expr& expr);
// Returns the terms of a conjunction in order; any other condition is its own single term.
std::vector<Expr> ConjunctsOf(const Expr& condition);

// Run a lambda as a whole pass: the children are rewritten first, then `after` maps the rebuilt
// node.
Expr RewriteBottomUp(const Expr& expr, const std::function<Expr(const Expr&)>& after);
Stmt RewriteBottomUp(const Stmt& stmt, const std::function<Stmt(const Stmt&)>& after_stmt,
                     const std::function<Expr(const Expr&)>& after_expr);
// Applies `after` to every expression in `stmt`, bottom up.
Stmt RewriteExprs(const Stmt& stmt, const std::function<Expr(const Expr&)>& after);

}  // namespace tcc

#include "ir/expr/visitor_fields.inc"
