#include "schedule/analysis/registers.h"

#include <algorithm>

#include "ir/analysis/accesses.h"
#include "ir/expr/visitor.h"
#include "ir/simplify/simplify.h"

namespace tcc {
namespace {

// Placed blocks have loops of extent 1 + (1 - 1).
bool RunsOnce(const For& loop) {
  return IsConstant(loop.extent, 1) || IsConstant(Simplify(loop.extent), 1);
}

bool HasRunningIndex(const Stmt& stmt, const Var& buffer, std::vector<Var> running) {
  const auto* loop = stmt.as<For>();
  if (loop && !IsSpread(loop->for_kind) && !RunsOnce(*loop)) running.push_back(loop->var);
  if (const auto* block = stmt.as<Block>()) {
    for (const Access& access : AccessesOf(*block)) {
      if (!(access.buffer == buffer)) continue;
      for (const Var& loop : running) {
        if (BindingsUse(*block, VarsOf(access), loop)) return true;
      }
    }
    return false;
  }
  bool found = false;
  ForEachChild(
      stmt, [&](const Stmt& child) { found = found || HasRunningIndex(child, buffer, running); });
  return found;
}

}  // namespace

bool IsSpread(ForKind kind) {
  return kind == ForKind::kUnrolled || kind == ForKind::kVectorized;
}

std::vector<Access> AccessesOf(const Block& block) {
  std::vector<Access> accesses = ReadsOf(block);
  for (const Access& write : WritesOf(block)) accesses.push_back(write);
  return accesses;
}

std::vector<Var> VarsOf(const Access& access) {
  std::vector<Var> vars;
  for (const Expr& index : access.indices) {
    for (const Var& var : VarsOf(index)) vars.push_back(var);
  }
  return vars;
}

bool BindingsUse(const Block& block, const std::vector<Var>& iters, const Var& loop) {
  return std::ranges::any_of(block.iters, [&](const IterVar& iter) {
    return std::ranges::find(iters, iter.var) != iters.end() && UsesVar(iter.binding, loop);
  });
}

bool IsRegisters(const Allocate& allocate) {
  return allocate.buffer.scope == Scope::kLocal &&
         !HasRunningIndex(allocate.body, allocate.buffer.var, {});
}

}  // namespace tcc
