#include "ir/expr/behind_blocks.h"

#include "ir/expr/visitor.h"

namespace tcc {

bool HoldsBlocks(const Stmt& stmt) {
  return Contains(stmt, [](const Stmt& inner) {
    const auto* loop = inner.as<For>();
    return loop && IsBlockIdx(loop->for_kind);
  });
}

size_t FirstBehindBlocks(const Seq& seq) {
  size_t first = seq.stmts.size();
  while (first > 0 && !HoldsBlocks(seq.stmts[first - 1])) --first;
  return first == 0 ? seq.stmts.size() : first;
}

bool GoesOnBehindBlocks(const Stmt& stmt) {
  return Contains(stmt, [](const Stmt& inner) {
    const auto* seq = inner.as<Seq>();
    return seq && FirstBehindBlocks(*seq) < seq->stmts.size();
  });
}

}  // namespace tcc
