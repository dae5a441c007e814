#include "ir/expr/compare.h"
#include "ir/expr/visitor.h"
#include "lower/passes/passes.h"
#include "lower/passes/rewrite_statements.h"

namespace tcc {
namespace {

// Returns the statement if its condition may stand once for it and for a neighbour under the same
// condition. A loaded value may change between the two.
const If* Mergeable(const Stmt& stmt) {
  const auto* test = stmt.as<If>();
  return test && !test->else_body && !HasLoad(test->condition) ? test : nullptr;
}

// Bodies that come together may begin and end with conditions of their own, which now are
// neighbours.
Stmt MergeIn(const Stmt& stmt) {
  const auto* seq = stmt.as<Seq>();
  if (!seq) return stmt;
  std::vector<Stmt> stmts;
  for (size_t i = 0; i < seq->stmts.size();) {
    const If* first = Mergeable(seq->stmts[i]);
    std::vector<Stmt> bodies;
    size_t end = i;
    while (first && end < seq->stmts.size()) {
      const If* next = Mergeable(seq->stmts[end]);
      if (!next || !Equal(next->condition, first->condition)) break;
      bodies.push_back(next->then_body);
      ++end;
    }
    bool several = bodies.size() > 1;
    stmts.push_back(several ? MakeStmt<If>(first->condition, MergeIn(SeqOf(bodies)))
                            : seq->stmts[i]);
    i = several ? end : i + 1;
  }
  return stmts.size() == seq->stmts.size() ? stmt : SeqOf(stmts);
}

}  // namespace

Function MergeConditions(const Function& fn) {
  Function result = fn;
  result.body = RewriteStatements(fn.body, MergeIn);
  return result;
}

}  // namespace tcc
