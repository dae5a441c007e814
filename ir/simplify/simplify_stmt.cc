#include <algorithm>

#include "ir/expr/visitor.h"
#include "ir/simplify/simplifier.h"
#include "ir/simplify/simplify.h"

namespace tcc {
namespace {

// Returns the range of a variable that runs over 0..extent. An empty loop runs nothing, so any
// bounds are sound for it; these keep low <= high.
Interval Below(Interval extent) {
  int64_t high = extent.high == INT64_MAX ? INT64_MAX : std::max<int64_t>(extent.high - 1, 0);
  return {0, high};
}

class StmtSimplifier {
 public:
  explicit StmtSimplifier(Simplifier& simplifier) : simplifier_(simplifier) {}

  Stmt Run(const Stmt& stmt) {
    if (!stmt) return stmt;
    Stmt result = VisitStmt(stmt, [&](const auto& node) { return Visit(node); });
    // A statement in normal form stays the same node.
    return result->hash == stmt->hash && Equal(result, stmt) ? stmt : result;
  }

  Buffer Run(Buffer buffer) {
    buffer.shape = Run(buffer.shape);
    buffer.window = {Run(buffer.window.origin), Run(buffer.window.size)};
    buffer.versions = Run(buffer.versions);
    buffer.layout.strides = Run(buffer.layout.strides);
    buffer.layout.offset = Run(buffer.layout.offset);
    for (BlockFactor& block : buffer.layout.blocks) block.factor = Run(block.factor);
    return buffer;
  }

 private:
  Expr Run(const Expr& expr) { return expr ? simplifier_.Run(expr) : expr; }
  std::vector<Expr> Run(const std::vector<Expr>& exprs) {
    std::vector<Expr> result;
    result.reserve(exprs.size());
    for (const Expr& expr : exprs) result.push_back(Run(expr));
    return result;
  }
  Access Run(const Access& access) { return {access.buffer, Run(access.indices)}; }

  Interval BoundsOfSimplified(const Expr& expr) { return BoundsOf(expr, simplifier_.bounds()); }

  // Returns the bounds of a loop's extent. An inner threadIdx loop of the same axis determines
  // which threads run, so the outer variable may take all values of the inner extent.
  Interval ThreadExtent(const For& loop, Interval extent) {
    if (!IsThreadIdx(loop.for_kind)) return extent;
    PreOrder(loop.body, [&](const Stmt& stmt) {
      const auto* inner = stmt.as<For>();
      if (!inner || inner->for_kind != loop.for_kind) return;
      extent = Hull(extent, BoundsOfSimplified(inner->extent));
    });
    return extent;
  }

  Stmt Visit(const For& loop) {
    Expr extent = Run(loop.extent);
    simplifier_.SetBounds(loop.var, Below(ThreadExtent(loop, BoundsOfSimplified(extent))));
    return MakeStmt<For>(loop.var, extent, loop.for_kind, loop.key, Run(loop.body));
  }

  Stmt Visit(const Block& block) {
    std::vector<IterVar> iters;
    for (const IterVar& iter : block.iters) {
      iters.push_back({iter.var, iter.kind, Run(iter.binding), Run(iter.domain)});
    }
    std::vector<LoopGuard> guards;
    for (const LoopGuard& guard : block.guards) {
      guards.push_back({Run(guard.value), Run(guard.extent)});
    }
    // The body sees only instances that exist.
    for (const IterVar& iter : iters) {
      Interval domain = Below(BoundsOfSimplified(iter.domain));
      simplifier_.SetBounds(iter.var, Narrow(domain, BoundsOfSimplified(iter.binding)));
    }
    return MakeStmt<Block>(block.name, std::move(iters), std::move(guards), Run(block.predicate),
                           Run(block.body));
  }

  Stmt Visit(const Let& let) {
    Expr value = Run(let.value);
    if (let.var.dtype() == kInt64 || let.var.dtype() == kBool) {
      simplifier_.SetBounds(let.var, BoundsOfSimplified(value));
    }
    return MakeStmt<Let>(let.var, value, Run(let.body));
  }

  Stmt Visit(const Store& store) {
    return MakeStmt<Store>(store.buffer, Run(store.indices), Run(store.value), Run(store.mask));
  }

  Stmt Visit(const Reduce& reduce) {
    std::vector<Access> outputs;
    for (const Access& output : reduce.outputs) outputs.push_back(Run(output));
    return MakeStmt<Reduce>(reduce.combiner, std::move(outputs), Run(reduce.inputs), reduce.init);
  }

  Stmt Visit(const Seq& seq) {
    std::vector<Stmt> stmts;
    stmts.reserve(seq.stmts.size());
    for (const Stmt& stmt : seq.stmts) stmts.push_back(Run(stmt));
    return MakeStmt<Seq>(std::move(stmts));
  }

  Stmt Visit(const If& branch) {
    Expr condition = Run(branch.condition);
    if (IsConstant(condition, 1)) return Run(branch.then_body);
    return MakeStmt<If>(condition, Run(branch.then_body), Run(branch.else_body));
  }
  Stmt Visit(const Allocate& allocate) {
    return MakeStmt<Allocate>(Run(allocate.buffer), Run(allocate.body));
  }
  Stmt Visit(const AsyncCopy& copy) {
    Expr keep = Run(copy.keep);
    if (keep && IsConstant(keep, 1)) keep = {};
    return MakeStmt<AsyncCopy>(Run(copy.destination), Run(copy.source), copy.count, keep);
  }
  Stmt Visit(const PrefetchLine& prefetch) { return MakeStmt<PrefetchLine>(Run(prefetch.cell)); }
  Stmt Visit(const IntrinsicCall& call) {
    return MakeStmt<IntrinsicCall>(call.intrinsic, Run(call.body));
  }
  Stmt Visit(const Barrier& node) { return node; }
  Stmt Visit(const AsyncCommit& node) { return node; }
  Stmt Visit(const AsyncWait& node) { return node; }

  Simplifier& simplifier_;
};

// Returns the variables in order of definition.
std::vector<Var> DefinedVars(const Stmt& stmt) {
  std::vector<Var> vars;
  PreOrder(stmt, [&](const Stmt& s) {
    if (const auto* loop = s.as<For>()) vars.push_back(loop->var);
    if (const auto* let = s.as<Let>()) vars.push_back(let->var);
    if (const auto* allocate = s.as<Allocate>()) vars.push_back(allocate->buffer.var);
    if (const auto* block = s.as<Block>()) {
      for (const IterVar& iter : block->iters) vars.push_back(iter.var);
    }
  });
  return vars;
}

// Returns the other variables in order of first occurrence.
std::vector<Var> FreeVars(const Stmt& stmt, const std::vector<Var>& defined) {
  std::unordered_set<const ExprNode*> seen;
  for (const Var& var : defined) seen.insert(var.get());
  std::vector<Var> free;
  PreOrderExprs(stmt, [&](const Expr& e) {
    const auto* var = e.as<VarNode>();
    if (var && seen.insert(var).second) free.push_back(Var(var));
  });
  return free;
}

}  // namespace

Stmt Simplify(const Stmt& stmt, Simplifier& simplifier) {
  return StmtSimplifier(simplifier).Run(stmt);
}

Stmt Simplify(const Stmt& stmt, const Bounds& bounds) {
  if (!stmt) return stmt;
  // Free variables are numbered as they occur, until that order is stable, like in Simplify of an
  // Expr.
  std::vector<Var> defined = DefinedVars(stmt);
  std::vector<Var> free = FreeVars(stmt, defined);
  Stmt result = stmt;
  for (size_t round = 0; round <= free.size(); ++round) {
    Simplifier simplifier(bounds);
    for (const Var& var : defined) simplifier.Number(var);
    for (const Var& var : free) simplifier.Number(var);
    result = Simplify(result, simplifier);
    std::vector<Var> now = FreeVars(result, defined);
    std::erase_if(free, [&](const Var& v) { return std::ranges::find(now, v) == now.end(); });
    if (free == now) return result;
    free = std::move(now);
  }
  return result;
}

Function Simplify(const Function& fn) {
  Simplifier simplifier({});
  for (const Var& var : DefinedVars(fn.body)) simplifier.Number(var);
  for (const Var& var : fn.vars) simplifier.Number(var);
  for (const Buffer& param : fn.params) simplifier.Number(param.var);
  StmtSimplifier stmts(simplifier);
  Function result = fn;
  for (Buffer& param : result.params) param = stmts.Run(param);
  result.body = stmts.Run(fn.body);
  return result;
}

}  // namespace tcc
