#include <set>

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

// The buffers that the function reads and never writes: a load from one is worth the same anywhere.
class ReadOnlyBuffers {
 public:
  explicit ReadOnlyBuffers(const Function& fn) {
    for (const Buffer& param : fn.params) buffers_.insert(param.var.get());
    PreOrder(fn.body, [&](const Stmt& stmt) {
      if (const auto* store = stmt.as<Store>()) buffers_.erase(store->buffer.get());
      if (const auto* copy = stmt.as<AsyncCopy>()) buffers_.erase(copy->destination.buffer.get());
    });
  }

  // Returns whether the expression loads from others.
  bool LoadsOthers(const Expr& expr) const {
    return Contains(expr, [&](const Expr& node) {
      const auto* load = node.as<Load>();
      return load && !buffers_.contains(load->buffer.get());
    });
  }

 private:
  std::set<const ExprNode*> buffers_;
};

Stmt HoistFrom(const Stmt& stmt, const ReadOnlyBuffers& read_only) {
  const auto* loop = stmt.as<For>();
  const auto* test = loop ? loop->body.as<If>() : nullptr;
  if (!test || test->else_body) return stmt;
  bool runs = AsConstant(loop->extent).value_or(0) > 0;
  std::vector<Expr> outside, inside;
  for (const Expr& term : ConjunctsOf(test->condition)) {
    // A load may be valid only where the earlier terms hold, and the body may store to its buffer.
    bool may_load = runs && inside.empty() && !read_only.LoadsOthers(term);
    bool moves = !UsesVar(term, loop->var) && (may_load || !HasLoad(term));
    (moves ? outside : inside).push_back(term);
  }
  if (outside.empty()) return stmt;
  return Guarded(outside, MakeStmt<For>(loop->var, loop->extent, loop->for_kind, loop->key,
                                        Guarded(inside, test->then_body)));
}

}  // namespace

Function HoistConditions(const Function& fn) {
  ReadOnlyBuffers read_only(fn);
  Function result = fn;
  result.body = RewriteBottomUp(
      fn.body, [&](const Stmt& stmt) { return HoistFrom(stmt, read_only); },
      [](const Expr& expr) { return expr; });
  return result;
}

}  // namespace tcc
