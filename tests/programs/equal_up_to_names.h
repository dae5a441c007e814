#pragma once

#include "ir/expr/compare.h"
#include "ir/expr/visitor.h"

namespace tcc {

inline Function WithoutNames(Function fn) {
  auto erased = [](const Stmt& stmt) -> Stmt {
    if (const auto* loop = stmt.as<For>())
      return MakeStmt<For>(loop->var, loop->extent, loop->for_kind, "", loop->body);
    if (const auto* block = stmt.as<Block>())
      return MakeStmt<Block>("", block->iters, block->guards, block->predicate, block->body);
    return stmt;
  };
  fn.name.clear();
  fn.attributes = {};
  fn.body = RewriteBottomUp(fn.body, erased, [](const Expr& expr) { return expr; });
  return fn;
}

// Compares like AlphaEqual but ignores function names, block names, loop keys and attributes, for
// expected programs that are written as text.
inline bool EqualUpToNames(const Function& a, const Function& b) {
  return AlphaEqual(WithoutNames(a), WithoutNames(b));
}

}  // namespace tcc
