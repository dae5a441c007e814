#include "ir/expr/visitor.h"
#include "lower/passes/passes.h"

namespace tcc {
namespace {

// Guards `body` by the terms in order; each term guards the evaluation of the next.
Stmt Guarded(const std::vector<Expr>& terms, const Stmt& body) {
  if (terms.empty()) return body;
  Expr condition = terms[0];
  for (size_t i = 1; i < terms.size(); ++i) condition = BothOf(condition, terms[i]);
  return MakeStmt<If>(condition, body);
}

Stmt HoistFrom(const Stmt& stmt) {
  const auto* loop = stmt.as<For>();
  const auto* test = loop ? loop->body.as<If>() : nullptr;
  if (!test || test->else_body) return stmt;
  std::vector<Expr> outside, inside;
  for (const Expr& term : ConjunctsOf(test->condition)) {
    // A term that loads stays inside: the load may be valid only where an earlier term holds, and
    // the body may store to its buffer.
    bool moves = !UsesVar(term, loop->var) && !HasLoad(term);
    (moves ? outside : inside).push_back(term);
  }
  if (outside.empty()) return stmt;
  return Guarded(outside, MakeStmt<For>(loop->var, loop->extent, loop->for_kind, loop->key,
                                        Guarded(inside, test->then_body)));
}

}  // namespace

Function HoistConditions(const Function& fn) {
  Function result = fn;
  result.body = RewriteBottomUp(fn.body, HoistFrom, [](const Expr& expr) { return expr; });
  return result;
}

}  // namespace tcc
