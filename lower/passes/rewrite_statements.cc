#include "lower/passes/rewrite_statements.h"

#include "ir/expr/visitor.h"

namespace tcc {
namespace {

class StatementMutator final : public Mutator {
 public:
  explicit StatementMutator(const std::function<Stmt(const Stmt&)>& after) : after_(after) {}

 private:
  using Mutator::Rewrite;
#define TCC_AFTER(node) \
  Stmt Rewrite(const node& stmt) override { return after_(Changed(stmt)); }
  TCC_STMT_KINDS(TCC_AFTER)
#undef TCC_AFTER

  Stmt Changed(const Store& stmt) { return stmt; }
  Stmt Changed(const Reduce& stmt) { return stmt; }
  Stmt Changed(const AsyncCopy& stmt) { return stmt; }
  Stmt Changed(const PrefetchLine& stmt) { return stmt; }
  template <typename Node>
  Stmt Changed(const Node& stmt) {
    return RewriteChildren(stmt);
  }

  const std::function<Stmt(const Stmt&)>& after_;
};

}  // namespace

Stmt RewriteStatements(const Stmt& stmt, const std::function<Stmt(const Stmt&)>& after) {
  return StatementMutator(after).Mutate(stmt);
}

int CountStores(const Stmt& stmt) {
  int count = 0;
  PreOrder(stmt, [&](const Stmt& s) { count += s.kind() == StmtKind::kStore; });
  return count;
}

bool IsOverThreads(const Stmt& stmt) {
  return Contains(stmt, [](const Stmt& s) {
    const auto* loop = s.as<For>();
    return loop && (IsThreadIdx(loop->for_kind) || IsBlockIdx(loop->for_kind));
  });
}

}  // namespace tcc
