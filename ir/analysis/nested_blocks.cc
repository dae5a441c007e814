#include "ir/analysis/nested_blocks.h"

#include <algorithm>

#include "ir/expr/substitute.h"
#include "ir/expr/visitor.h"

namespace tcc {
namespace {

// Returns whether the expression, made of loop variables, sizes and numbers, is seen to be >= 0.
bool IsNonNegative(const Expr& expr) {
  if (std::optional<int64_t> number = AsConstant(expr)) return *number >= 0;
  if (const auto* var = expr.as<VarNode>()) return var->role != VarRole::kBuffer;
  auto both = [](const auto* node) { return IsNonNegative(node->a) && IsNonNegative(node->b); };
  if (const auto* sum = expr.as<Add>()) return both(sum);
  if (const auto* product = expr.as<Mul>()) return both(product);
  if (const auto* quotient = expr.as<FloorDiv>()) return both(quotient);
  if (const auto* rest = expr.as<FloorMod>()) return both(rest);
  if (const auto* quotient = expr.as<CeilDiv>()) return both(quotient);
  if (const auto* least = expr.as<Min>()) return both(least);
  if (const auto* most = expr.as<Max>()) return both(most);
  return false;
}

// Returns the conditions for an instance of the block to exist, except its predicate.
std::vector<LoopGuard> GuardsOf(const Block& block) {
  std::vector<LoopGuard> guards;
  for (const IterVar& iter : block.iters) {
    if (!IsNonNegative(iter.binding)) guards.push_back({Expr(0) - iter.binding, Expr(1)});
    guards.push_back({iter.binding, iter.domain});
  }
  guards.insert(guards.end(), block.guards.begin(), block.guards.end());
  return guards;
}

class Unnester final : public Mutator {
  using Mutator::Rewrite;

  Stmt Rewrite(const Block& block) override {
    size_t outer = guards_.size();
    if (!HoldsBlocks(block)) {
      std::vector<LoopGuard> guards = block.guards;
      guards.insert(guards.end(), guards_.begin(), guards_.end());
      if (outer == 0) return block;
      return MakeStmt<Block>(block.name, block.iters, guards, block.predicate, block.body);
    }
    Substitution values;
    for (const IterVar& iter : block.iters) values.emplace(iter.var, iter.binding);
    for (const LoopGuard& guard : GuardsOf(block)) guards_.push_back(guard);
    Stmt body = Mutate(Substitute(block.body, values));
    guards_.resize(outer);
    if (IsConstant(block.predicate, 1)) return body;
    return MakeStmt<If>(Substitute(block.predicate, values), body);
  }

  std::vector<LoopGuard> guards_;  // of the blocks round the current statement
};

void CollectOutermost(const Stmt& stmt, std::vector<Ref<Block>>& blocks) {
  if (const auto* block = stmt.as<Block>()) {
    blocks.push_back(Ref<Block>(block));
    return;
  }
  ForEachChild(stmt, [&](const Stmt& child) { CollectOutermost(child, blocks); });
}

}  // namespace

bool HoldsBlocks(const Block& block) {
  if (block.body.as<Store>() || block.body.as<Reduce>()) return false;
  return !BlocksOf(block.body).empty();
}

bool HasNestedBlocks(const Stmt& stmt) {
  // The most frequent kinds avoid the cost of a visitor, since each schedule step calls this.
  if (const auto* loop = stmt.as<For>()) return HasNestedBlocks(loop->body);
  if (const auto* seq = stmt.as<Seq>())
    return std::any_of(seq->stmts.begin(), seq->stmts.end(), HasNestedBlocks);
  if (const auto* block = stmt.as<Block>()) return HoldsBlocks(*block);
  bool found = false;
  ForEachChild(stmt, [&](const Stmt& child) { found = found || HasNestedBlocks(child); });
  return found;
}

std::vector<Ref<Block>> OutermostBlocksOf(const Stmt& stmt) {
  std::vector<Ref<Block>> blocks;
  CollectOutermost(stmt, blocks);
  return blocks;
}

Stmt UnnestBlocks(const Stmt& stmt) {
  return HasNestedBlocks(stmt) ? Unnester().Mutate(stmt) : stmt;
}

Function UnnestBlocks(const Function& fn) {
  if (!HasNestedBlocks(fn.body)) return fn;
  Function result = fn;
  result.body = Unnester().Mutate(fn.body);
  return result;
}

}  // namespace tcc
