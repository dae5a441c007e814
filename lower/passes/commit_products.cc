#include "ir/expr/visitor.h"
#include "ir/expr/warp_instruction.h"
#include "lower/passes/passes.h"

namespace tcc {
namespace {

bool CommitsProducts(const Stmt& stmt) {
  const auto* commit = stmt.as<AsyncCommit>();
  return commit && commit->what == AsyncKind::kProducts;
}

class Committer final : public Mutator {
 private:
  using Mutator::Rewrite;

  Stmt Rewrite(const Seq& seq) override {
    std::vector<Stmt> stmts;
    for (size_t i = 0; i < seq.stmts.size(); ++i) {
      const Stmt& stmt = seq.stmts[i];
      bool product = IsGroupProduct(stmt);
      stmts.push_back(product ? stmt : Mutate(stmt));
      bool last = i + 1 == seq.stmts.size();
      bool goes_on =
          !last && (IsGroupProduct(seq.stmts[i + 1]) || CommitsProducts(seq.stmts[i + 1]));
      if (product && !goes_on) Finish(stmts);
    }
    return SeqOf(stmts);
  }

  Stmt Rewrite(const IntrinsicCall& call) override {
    std::vector<Stmt> stmts = {Stmt(call)};
    if (IsGroupProduct(stmts[0])) Finish(stmts);
    return SeqOf(stmts);
  }

  static void Finish(std::vector<Stmt>& stmts) {
    stmts.push_back(MakeStmt<AsyncCommit>(AsyncKind::kProducts));
    stmts.push_back(MakeStmt<AsyncWait>(AsyncKind::kProducts, 0));
  }
};

}  // namespace

Function CommitProducts(const Function& fn) {
  return Committer().Mutate(fn);
}

}  // namespace tcc
