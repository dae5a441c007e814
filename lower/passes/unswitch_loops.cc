#include "ir/expr/substitute.h"
#include "ir/expr/visitor.h"
#include "lower/passes/passes.h"
#include "lower/passes/rewrite_statements.h"

namespace tcc {
namespace {

// Doubling more than this costs more in code than the tests cost in time.
constexpr int kMaxBody = 512;

// Conditions in `body` that only use what is defined outside it; each once, in order of occurrence.
std::vector<Expr> InvariantConditions(const For& loop) {
  std::vector<Var> defined = {loop.var};
  bool loads = false;
  PreOrder(loop.body, [&](const Stmt& stmt) {
    if (const auto* let = stmt.as<Let>()) defined.push_back(let->var);
  });
  std::vector<Expr> conditions;
  PreOrder(loop.body, [&](const Stmt& stmt) {
    const auto* test = stmt.as<If>();
    if (!test) return;
    bool invariant = true;
    PreOrder(test->condition, [&](const Expr& e) { loads = loads || e.as<Load>(); });
    for (const Var& var : defined) invariant = invariant && !UsesVar(test->condition, var);
    for (const Expr& known : conditions) invariant = invariant && !Equal(known, test->condition);
    if (invariant && !loads) conditions.push_back(test->condition);
    loads = false;
  });
  return conditions;
}

// Returns the loop where the condition never holds; null if it then does nothing.
Stmt Without(const Stmt& loop, const Expr& condition) {
  auto fails = [&](const Stmt& stmt) -> Stmt {
    const auto* test = stmt.as<If>();
    if (!test || !Equal(condition, test->condition)) return stmt;
    return test->else_body ? test->else_body : Nothing();
  };
  Stmt rest = RewriteStatements(loop, fails);
  bool acts = false;
  PreOrder(rest, [&](const Stmt& stmt) {
    acts = acts || (!stmt.as<For>() && !stmt.as<Seq>() && !stmt.as<If>() && !stmt.as<Let>());
  });
  return acts ? rest : Stmt();
}

Stmt Unswitch(const Stmt& stmt) {
  const auto* loop = stmt.as<For>();
  bool plain = loop && loop->for_kind == ForKind::kSerial;
  if (!plain) return stmt;
  bool innermost = true;
  PreOrder(loop->body,
           [&](const Stmt& s) { innermost = innermost && !s.as<For>() && !s.as<Barrier>(); });
  if (!innermost || CountStores(loop->body) > kMaxBody) return stmt;
  std::vector<Expr> conditions = InvariantConditions(*loop);
  if (conditions.empty()) return stmt;

  auto holds = [&](const Stmt& s) -> Stmt {
    const auto* test = s.as<If>();
    if (!test) return s;
    for (const Expr& condition : conditions) {
      if (Equal(condition, test->condition)) return test->then_body;
    }
    return s;
  };
  Stmt fast = WithFreshVars(RewriteStatements(stmt, holds));
  Expr all = conditions[0];
  for (size_t i = 1; i < conditions.size(); ++i) all = BothOf(all, conditions[i]);
  // With several conditions, any of them may fail.
  return MakeStmt<If>(all, fast, conditions.size() == 1 ? Without(stmt, all) : stmt);
}

}  // namespace

Function UnswitchLoops(const Function& fn) {
  Function result = fn;
  result.body = RewriteStatements(fn.body, Unswitch);
  return result;
}

}  // namespace tcc
