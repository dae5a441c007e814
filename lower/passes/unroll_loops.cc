#include "ir/expr/substitute.h"
#include "ir/expr/visitor.h"
#include "lower/passes/passes.h"
#include "lower/passes/rewrite_statements.h"

namespace tcc {
namespace {

Stmt Unroll(const Stmt& stmt) {
  // Copies join the sequence that their loop stood in.
  if (const auto* seq = stmt.as<Seq>()) return SeqOf(seq->stmts);
  const auto* loop = stmt.as<For>();
  if (!loop || loop->for_kind != ForKind::kUnrolled) return stmt;
  std::optional<int64_t> extent = AsConstant(loop->extent);
  if (!extent)
    return MakeStmt<For>(loop->var, loop->extent, ForKind::kSerial, loop->key, loop->body);

  std::vector<Stmt> copies;
  for (int64_t i = 0; i < *extent; ++i) {
    copies.push_back(WithFreshVars(Substitute(loop->body, loop->var, Expr(i))));
  }
  return SeqOf(copies);
}

}  // namespace

Function UnrollLoops(const Function& fn) {
  Function result = fn;
  result.body = RewriteStatements(fn.body, Unroll);
  return result;
}

}  // namespace tcc
