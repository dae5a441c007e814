#include <set>
#include <unordered_map>

#include "ir/expr/substitute.h"
#include "ir/simplify/simplify.h"
#include "lower/passes/loop_bounds.h"
#include "lower/passes/passes.h"
#include "lower/passes/rewrite_statements.h"

namespace tcc {
namespace {

// Notes which loop variables decide whether an instance exists, and which choose a local cell.
class LoopUses final : public BoundedMutator {
 public:
  explicit LoopUses(const Function& fn) {
    PreOrder(fn.body, [&](const Stmt& stmt) {
      const auto* allocate = stmt.as<Allocate>();
      if (allocate && allocate->buffer.scope == Scope::kLocal) {
        local_.emplace(allocate->buffer.var, &allocate->buffer);
      }
    });
    Mutate(fn.body);
  }

  bool Cuts(const Var& loop) const { return cuts_.contains(loop.get()); }
  bool ChoosesCells(const Var& loop) const { return chooses_.contains(loop.get()); }

 private:
  using BoundedMutator::Rewrite;

  Stmt Rewrite(const Block& block) override {
    Substitution bindings;
    auto look_at = [&](const Expr& value, const Expr& extent) {
      if (AsConstant(extent) || ProveInLoops(value < extent) == Proof::kTrue) return;
      for (const Var& var : VarsOf(value)) cuts_.insert(var.get());
    };
    for (const IterVar& iter : block.iters) {
      bindings.emplace(iter.var, iter.binding);
      look_at(iter.binding, iter.domain);
    }
    for (const LoopGuard& guard : block.guards) look_at(guard.value, guard.extent);
    PreOrder(block.body, [&](const Stmt& stmt) {
      if (const auto* store = stmt.as<Store>()) Note(store->buffer, store->indices, bindings);
      const auto* reduce = stmt.as<Reduce>();
      if (!reduce) return;
      for (const Access& output : reduce->outputs) Note(output.buffer, output.indices, bindings);
    });
    PreOrderExprs(block.body, [&](const Expr& expr) {
      if (const auto* load = expr.as<Load>()) Note(load->buffer, load->indices, bindings);
    });
    return block;
  }

  void Note(const Var& buffer, const std::vector<Expr>& indices, const Substitution& bindings) {
    auto local = local_.find(buffer);
    if (local == local_.end()) return;
    const Window& window = local->second->window;
    for (size_t d = 0; d < indices.size(); ++d) {
      Expr cell = Substitute(indices[d], bindings);
      if (!window.origin.empty()) cell = cell - window.origin[d];
      for (const Var& var : VarsOf(Simplify(cell))) chooses_.insert(var.get());
    }
  }

  std::unordered_map<Var, const Buffer*, VarHash> local_;
  std::set<const ExprNode*> cuts_;
  std::set<const ExprNode*> chooses_;
};

}  // namespace

Function RollCutLoops(const Function& fn) {
  if (fn.vars.empty() || IsOverThreads(fn.body)) return fn;
  LoopUses uses(fn);
  Function result = fn;
  result.body = RewriteStatements(fn.body, [&](const Stmt& stmt) -> Stmt {
    const auto* loop = stmt.as<For>();
    if (!loop || loop->for_kind != ForKind::kUnrolled) return stmt;
    if (!uses.Cuts(loop->var) || uses.ChoosesCells(loop->var)) return stmt;
    return MakeStmt<For>(loop->var, loop->extent, ForKind::kSerial, loop->key, loop->body);
  });
  return result;
}

}  // namespace tcc
