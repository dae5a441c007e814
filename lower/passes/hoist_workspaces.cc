#include <unordered_map>

#include "ir/expr/visitor.h"
#include "lower/passes/passes.h"

namespace tcc {
namespace {

class WorkspaceHoister final : public Mutator {
 private:
  using Mutator::Rewrite;

  Stmt Rewrite(const For& loop) override {
    if (!IsBlockIdx(loop.for_kind)) return RewriteChildren(loop);
    loops_.push_back(&loop);
    Stmt result = RewriteChildren(loop);
    loops_.pop_back();
    if (!loops_.empty()) return result;
    for (; !hoisted_.empty(); hoisted_.pop_back()) {
      result = MakeStmt<Allocate>(hoisted_.back(), result);
    }
    return result;
  }

  Stmt Rewrite(const Allocate& allocate) override {
    if (allocate.buffer.scope != Scope::kGlobal || loops_.empty()) return RewriteChildren(allocate);
    Buffer workspace = allocate.buffer;
    Expr blocks(1), block(0);
    for (const For* loop : loops_) {
      blocks = blocks * loop->extent;
      block = block * loop->extent + loop->var;
    }
    first_cells_.emplace(workspace.var, block * workspace.shape[0]);
    workspace.shape[0] = blocks * workspace.shape[0];
    hoisted_.push_back(workspace);
    return Mutate(allocate.body);
  }

  bool IsWorkspace(const Var& buffer) const { return first_cells_.contains(buffer); }

  // Returns the place of a cell of a block in the whole workspace.
  std::vector<Expr> Moved(const Var& buffer, const std::vector<Expr>& indices) {
    return {first_cells_.at(buffer) + Mutate(indices[0])};
  }

  Expr Rewrite(const Load& load) override {
    if (!IsWorkspace(load.buffer)) return RewriteChildren(load);
    return Make<Load>(load.buffer, Moved(load.buffer, load.indices));
  }

  Stmt Rewrite(const Store& store) override {
    if (!IsWorkspace(store.buffer)) return RewriteChildren(store);
    return MakeStmt<Store>(store.buffer, Moved(store.buffer, store.indices), Mutate(store.value),
                           store.mask);
  }

  Stmt Rewrite(const AsyncCopy& copy) override {
    const Access& from = copy.source;
    if (!IsWorkspace(from.buffer)) return RewriteChildren(copy);
    return MakeStmt<AsyncCopy>(copy.destination,
                               Access{from.buffer, Moved(from.buffer, from.indices)}, copy.count,
                               copy.keep ? Mutate(copy.keep) : Expr());
  }

  std::vector<const For*> loops_;  // over blocks, outermost first
  std::vector<Buffer> hoisted_;
  // The first cell that a block has in a workspace.
  std::unordered_map<Var, Expr, VarHash> first_cells_;
};

bool HoldsWorkspace(const Stmt& launch) {
  return Contains(launch, [](const Stmt& stmt) {
    const auto* allocate = stmt.as<Allocate>();
    return allocate && allocate->buffer.scope == Scope::kGlobal;
  });
}

}  // namespace

Function HoistWorkspaces(const Function& fn) {
  bool any = Contains(fn.body, [](const Stmt& stmt) {
    const auto* loop = stmt.as<For>();
    return loop && IsBlockIdx(loop->for_kind) && HoldsWorkspace(stmt);
  });
  if (!any) return fn;
  return WorkspaceHoister().Mutate(fn);
}

}  // namespace tcc
