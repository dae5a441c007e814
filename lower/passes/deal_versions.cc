#include <algorithm>

#include "ir/expr/substitute.h"
#include "ir/expr/visitor.h"
#include "ir/expr/warp_instruction.h"
#include "ir/simplify/simplify.h"
#include "lower/passes/passes.h"
#include "lower/passes/rewrite_statements.h"

namespace tcc {
namespace {

constexpr int64_t kMaxVersions = 4;  // more steps fill the cache of code
constexpr int64_t kMinTurns = 4;     // the loop that is left has at least

bool Multiplies(const Stmt& stmt) {
  const auto* call = stmt.as<IntrinsicCall>();
  const WarpInstruction* known = call ? FindWarpInstruction(call->intrinsic) : nullptr;
  return known && known->kind == WarpInstruction::Kind::kMma;
}

// Returns the number of versions that the loop's copies are dealt to in turn; 1 if there are none.
int64_t VersionsOf(const For& loop) {
  int64_t versions = 1;
  PreOrder(loop.body, [&](const Stmt& stmt) {
    const auto* copy = stmt.as<AsyncCopy>();
    if (!copy) return;
    PreOrder(copy->destination.indices[0], [&](const Expr& expr) {
      const auto* remainder = expr.as<FloorMod>();
      if (!remainder || !UsesVar(remainder->a, loop.var)) return;
      versions = std::max(versions, AsConstant(remainder->b).value_or(1));
    });
  });
  return versions;
}

Stmt Dealt(const Stmt& stmt) {
  const auto* loop = stmt.as<For>();
  std::optional<int64_t> extent = loop ? AsConstant(loop->extent) : std::nullopt;
  if (!extent || loop->for_kind != ForKind::kSerial || !Contains(loop->body, Multiplies)) {
    return stmt;
  }
  const int64_t versions = VersionsOf(*loop);
  if (versions < 2 || versions > kMaxVersions || *extent < kMinTurns * versions) return stmt;
  auto at = [&](const Expr& iteration) {
    return WithFreshVars(Substitute(loop->body, loop->var, iteration));
  };
  const Var turn = LoopVar(loop->var->name), version = LoopVar("version"), rest = LoopVar("rest");
  const int64_t turns = *extent / versions;
  Stmt steps = MakeStmt<For>(version, Expr(versions), ForKind::kUnrolled, loop->key,
                             at(Expr(turn) * Expr(versions) + Expr(version)));
  std::vector<Stmt> stmts = {MakeStmt<For>(turn, Expr(turns), ForKind::kSerial, loop->key, steps)};
  if (*extent % versions != 0) {
    stmts.push_back(MakeStmt<For>(rest, Expr(*extent % versions), ForKind::kSerial, loop->key,
                                  at(Expr(rest) + Expr(turns * versions))));
  }
  return Simplify(SeqOf(stmts));
}

}  // namespace

Function DealVersions(const Function& fn) {
  Function result = fn;
  result.body = RewriteStatements(fn.body, Dealt);
  return result;
}

}  // namespace tcc
